-- How a flow writes its records, and why. Null: not chosen yet.
alter table run_routes add column write text;
alter table run_routes add column write_why text;
