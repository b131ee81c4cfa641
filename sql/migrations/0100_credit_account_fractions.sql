-- Credits have up to six decimal places. An amount is its whole column plus its fraction column, so code that knows whole credits alone reads
-- and changes the whole column correctly beside code that knows both. Fractions add up: in a sum they may exceed 1.
alter table credit_accounts
  add column included_fraction numeric not null default 0,
  add column purchased_fraction numeric not null default 0,
  add column reserved_fraction numeric not null default 0;
