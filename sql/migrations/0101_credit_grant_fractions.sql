-- Whatever is free of a grant is split into whole credits and a fraction below 1: code that knows whole credits alone can hold all it sees.
alter table credit_grants
  add column credits_fraction numeric not null default 0,
  add column remaining_fraction numeric not null default 0,
  add column held_fraction numeric not null default 0,
  drop constraint credit_grants_credits_check,
  add constraint credit_grants_positive check (credits + credits_fraction > 0) not valid,
  add constraint credit_grants_fractions check (held_fraction >= 0 and remaining_fraction >= held_fraction) not valid;
