# Leaves out whole lines of comments and what lines are indented by: what a browser is sent needs
# neither (make install).
FNR == 1 { inside = 0 }
inside { if ($0 ~ /\*\/ *$/) inside = 0; next }
/^ *\/\// { next }
/^ *\/\*.*\*\/ *$/ { next }
/^ *\/\*/ { inside = 1; next }
{ sub(/^ +/, ""); print }
