# Leaves out comments, whole lines and at the end of one (where no quotation mark follows, so that it
# is no text), and what lines are indented by: what a browser is sent needs none of it (make install).
FNR == 1 { inside = 0 }
inside { if ($0 ~ /\*\/ *$/) inside = 0; next }
/^ *(\/\/.*)?$/ { next }
/^ *\/\*.*\*\/ *$/ { next }
/^ *\/\*/ { inside = 1; next }
{ sub(/^ +/, ""); sub(/ +\/\/ [^'"`]*$/, ""); sub(/ \/\*[^'"`*]*\*\/ /, " "); print }
