# Leaves out whole lines of comments: what a browser is sent need not tell them (make install).
FNR == 1 { inside = 0 }
inside { if ($0 ~ /\*\/ *$/) inside = 0; next }
/^ *\/\// { next }
/^ *\/\*.*\*\/ *$/ { next }
/^ *\/\*/ { inside = 1; next }
{ print }
