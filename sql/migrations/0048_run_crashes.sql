-- Crashes that the run's own work caused since its last settled row. It counts only while takeovers > 0.
alter table run_heads add column crashes smallint not null default 0;
