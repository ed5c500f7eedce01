//! Gates: what opens them, who may approve, what an approval is bound to, and when it stops counting.
