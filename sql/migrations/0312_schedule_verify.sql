-- Which written rows the runs of a schedule read back: `off`, `sample` or `all`. Null: as its template says.
alter table schedules add column verify text;
