alter table credit_holds validate constraint credit_holds_positive;
