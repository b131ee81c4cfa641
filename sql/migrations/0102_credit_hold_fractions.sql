alter table credit_holds
  add column amount_fraction numeric not null default 0,
  drop constraint credit_holds_amount_check,
  add constraint credit_holds_positive check (amount + amount_fraction > 0) not valid;
