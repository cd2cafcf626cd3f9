//! RLC and PDCP of LTE, seen from outside. One file per question.

mod lte {
    mod end_to_end;
    mod support;
}
