-- `verified`: rows that were read back; those with truncated or coerced values, with changed values, without their record, and rows that the
-- CRM refused to show; rows that were never read back. `verified_since`: the same when the run was last resumed. `canary_passed`: the
-- kinds of rows, by module, whose canary was verified; `*` for all.
alter table run_heads
  add column verified bigint[] not null default '{}',
  add column verified_since bigint[] not null default '{}',
  add column canary_passed text[] not null default '{}';

-- Returns why a guard holds a run whose verified rows differ too often, or null. `verified` and `since` are those of run_heads.
create function guard_coerced(guard jsonb, verified bigint[], since bigint[]) returns jsonb language sql immutable as $$
  select jsonb_build_object('outcome', 'coerced', 'rows', rows, 'settled', read, 'limit', share)
  from (select coalesce(verified[1], 0) - coalesce(since[1], 0) as read, coalesce(verified[2], 0) - coalesce(since[2], 0) as rows,
    (guard ->> 'coerced')::float8 as share) as counted
  where read >= least(50, coalesce((guard ->> 'canary')::int, 50)) and rows > share * read
$$;

-- Returns the outcome that exceeds the guard the most, or null. `counts` are those of run_heads; their positions modulo 16 are the outcomes
-- created, updated, refused, unanswered and failed (0, 1, 2, 3 and 5). Fewer than 50 settled rows are no basis, unless the canary is smaller.
create or replace function guard_breach(guard jsonb, counts bigint[], since bigint[]) returns jsonb language sql immutable as $$
  with counted as (
    select (n - 1) % 16 as outcome, sum(coalesce(x, 0) - coalesce(y, 0)) as rows from unnest(counts, since) with ordinality as t(x, y, n) group by 1),
  settled as (select coalesce(sum(rows), 0) as rows from counted where outcome in (0, 1, 2, 3, 5))
  select jsonb_build_object('outcome', l.name, 'rows', c.rows, 'settled', s.rows, 'limit', l.share)
  from settled s, (values ('refused', 2, (guard ->> 'refused')::float8), ('unanswered', 3, (guard ->> 'unanswered')::float8),
    ('failed', 5, (guard ->> 'failed')::float8)) as l(name, outcome, share)
  join counted c on c.outcome = l.outcome
  where s.rows >= least(50, coalesce((guard ->> 'canary')::int, 50)) and c.rows > l.share * s.rows
  order by c.rows - l.share * s.rows desc limit 1
$$;
