import {nameStatement} from './named-statement.ts'

/**
 * The settlement (T2) in one statement. Its parameters are the columns of a `Settlement`. The `gate` part locks the run's head before any
 * admission changes, so that intents and settlements that change the same admissions cannot deadlock. If a retry updates a row that only found its
 * record before, the row is patched again, because the rules of patches depend on `how`. If a row created or claimed a record and then updates another one, its
 * entry keeps the first record, because no other entry names it. New rows of the chain are inserted without `on conflict`, which would cost 48 bytes
 * of write-ahead log for each. No other settlement can insert them, because the lock on the run's head allows one settlement at a time.
 */
export const settleNamed =
  nameStatement(`with gone as (delete from sends where run_no = @run::bigint and batch_no = any(@batches::bigint[]) and fence <= @fence::bigint returning 1),
   gate as (select from run_heads where run_no = @run for update),
   released_rows as (
     delete from admissions a using gate, unnest(@released.module::smallint[], @released.key::text[]) as r(module_no, row_key)
     where a.run_no = @run and a.module_no = r.module_no and a.row_key = r.row_key returning 1),
   released_blocks as (
     update admitted_blocks a set bits = a.bits & ~r.bits::bit(1024), fresh = -bit_count(a.bits & r.bits::bit(1024))
     from gate, unnest(@releasedBlock.module::smallint[], @releasedBlock.flow::smallint[], @releasedBlock.block::int[], @releasedBlock.bits::text[]) as r(module_no, flow_no, block, bits)
     where a.run_no = @run and a.module_no = r.module_no and a.flow_no = r.flow_no and a.block = r.block
     returning fresh),
   head as (
     update run_heads set settle_no = @settleNo::bigint, takeovers = case when @isProgress::boolean then 0 else takeovers end, next_seq = next_seq + @logLength::int, counted = counted - (select count(*) from released_rows) + (select coalesce(sum(fresh), 0) from released_blocks),
       counts = add_counts(counts, @counts::bigint[]),
       held = case when guard is null or held is not null then held else guard_breach(guard, add_counts(counts, @counts), guard_since) end,
       lease_until = lading_now() + make_interval(secs => @leaseSeconds::float8)
     where run_no = @run and fence = @fence and lease_until > lading_now() and settle_no = @settleNo - 1
       and (select count(*) from gone) = cardinality(@batches)
     returning next_seq - @logLength as base, lading_now() as at, held, is_packed),
   logged as (
     insert into run_log (run_no, seq, row_key, flow_no, row_number, module_no, phase, target, attempt, record_id, outcome, code, message, at)
     select @run, base + ord - 1, key, flow, number, module, phase, target, attempt, record_id, outcome, code, message, at
     from head, unnest(@log.key::text[], @log.flow::smallint[], @log.number::bigint[], @log.module::smallint[], @log.phase::smallint[], @log.target::text[], @log.attempt::smallint[], @log.recordId::text[],
       @log.outcome::smallint[], @log.code::text[], @log.message::text[])
       with ordinality as l(key, flow, number, module, phase, target, attempt, record_id, outcome, code, message, ord)
     where not is_packed),
   packed as (
     insert into log_batches (run_no, first_seq, last_seq, block, at, row_keys, flows, row_numbers, modules, phases, targets, attempts, record_ids, outcomes, codes, messages)
     select @run, base + first - 1, base + last - 1, block, at, (@log.key::text[])[first:last], (@log.flow::smallint[])[first:last], (@log.number::bigint[])[first:last],
       (@log.module::smallint[])[first:last], (@log.phase::smallint[])[first:last], (@log.target::text[])[first:last], (@log.attempt::smallint[])[first:last],
       (@log.recordId::text[])[first:last], (@log.outcome::smallint[])[first:last], (@log.code::text[])[first:last], (@log.message::text[])[first:last]
     from head, unnest(@chunk.first::int[], @chunk.last::int[], @chunk.block::int[]) as p(first, last, block)
     where is_packed),
   met as (
     select k.*, is_known
     from head, unnest(@kept.module::smallint[], @kept.key::text[], @kept.recordId::text[], @kept.how::smallint[], @kept.matchKey::bytea[], @kept.mayExistTwice::boolean[], @kept.emptyLinks::text[], @kept.writtenAt::timestamptz[]) as k(module, key, record, how, match, twice, links, written)
     left join lateral (select true as is_known from chain_rows where chain_no = @chain::bigint and module_no = module and row_key = key limit 1) c on true),
   kept as (
     insert into chain_rows (chain_no, module_no, row_key, record_id, how, match_key, run_no, may_exist_twice, empty_links, written_at)
     select @chain, module, key, record, how, match, @run, twice, links, written from met where is_known is null),
   renewed as (
     update chain_rows c set record_id = record, match_key = match,
       run_no = case when c.record_id = record and c.how in (1, 2) and k.how = 3 then c.run_no else @run end,
       empty_links = links, written_at = coalesce(written, c.written_at), may_exist_twice = c.may_exist_twice or twice,
       tagged = c.tagged and c.record_id = record,
       patched = c.patched and c.record_id = record and (c.how < 4 or c.how = k.how),
       how = case when c.record_id = record and c.how < 4 then least(c.how, k.how) else k.how end
     from met k where is_known and c.chain_no = @chain and c.module_no = module and c.row_key = key
       and not (c.how in (1, 2) and k.how = 3 and c.record_id <> record)),
   opened as (
     insert into unsettled (chain_no, module_no, row_key, run_no, flow_no, row_number, kind, target, witness, digest, last_attempt, ended, creates,
       match_key, sent_at, deadline_at)
     select @chain, module, key, @run, flow, number, o.kind, o.target, o.witness, o.digest, attempt, o.ended, o.creates, o.match_key,
       coalesce(s.sent_at, u.sent_at, lading_now()),
       least(coalesce(s.deadline_at, u.deadline_at, lading_now() + make_interval(secs => @answerSeconds::float8)),
         coalesce(s.sent_at, lading_now()) + make_interval(secs => done_seconds))
     from head, unnest(@opened.module::smallint[], @opened.key::text[], @opened.flow::smallint[], @opened.number::bigint[], @opened.kind::smallint[], @opened.target::text[], @opened.hasUniqueKey::boolean[], @opened.attempt::smallint[],
       @opened.digest::bytea[], @opened.ended::boolean[], @opened.doneSeconds::float8[], @opened.creates::smallint[], @opened.matchKey::bytea[]) as o(module, key, flow, number, kind, target, witness, attempt, digest, ended,
       done_seconds, creates, match_key)
     left join lateral (
       select min(sent_at) as sent_at, max(deadline_at) as deadline_at from sends
       where run_no = @run and module_no = o.module and o.key = any(row_keys)) s on true
     left join unsettled u on u.chain_no = @chain and u.module_no = o.module and u.row_key = o.key
     on conflict (chain_no, module_no, row_key) do update set run_no = excluded.run_no, kind = excluded.kind, target = excluded.target,
       witness = excluded.witness, digest = excluded.digest, flow_no = excluded.flow_no, last_attempt = excluded.last_attempt,
       ended = excluded.ended, deadline_at = excluded.deadline_at, creates = unsettled.creates + excluded.creates,
       match_key = coalesce(excluded.match_key, unsettled.match_key),
       sent_at = case when unsettled.kind = 0 and excluded.kind = 0 then least(unsettled.sent_at, excluded.sent_at) else excluded.sent_at end),
   closed as (
     delete from unsettled u using head, unnest(@closed.module::smallint[], @closed.key::text[]) as c(module_no, row_key)
     where u.chain_no = @chain and u.module_no = c.module_no and u.row_key = c.row_key),
   moved as (
     update run_cursors set low_water = greatest(low_water, @cursor.lowWater::bigint) from head
     where run_cursors.run_no = @run and flow_no = @cursor.flow::smallint and pass = @cursor.pass::smallint),
   patched as (
     update chain_rows set patched = patched or whole, written_at = coalesce(written, written_at),
       empty_links = nullif(array_to_string(array(
         select name from unnest(string_to_array(empty_links, ',')) as name where name <> all(coalesce(string_to_array(filled, ','), '{}'))), ','), '')
     from head, unnest(@patched.module::smallint[], @patched.key::text[], @patched.isWhole::boolean[], @patched.filled::text[], @patched.writtenAt::timestamptz[]) as p(module, key, whole, filled, written)
     where chain_no = @chain and module_no = p.module and row_key = p.key),
   linked as (
     insert into run_empty_links (run_no, flow_no, field, rows)
     select @run, flow, field, rows from head, unnest(@link.flow::smallint[], @link.field::text[], @link.rows::bigint[]) as l(flow, field, rows)
     on conflict (run_no, flow_no, field) do update set rows = run_empty_links.rows + excluded.rows),
   tagged as (
     update chain_rows set tagged = true, written_at = coalesce(written, written_at)
     from head, unnest(@tagged.module::smallint[], @tagged.key::text[], @tagged.writtenAt::timestamptz[]) as p(module, key, written)
     where chain_no = @chain and module_no = p.module and row_key = p.key),
   rewritten as (
     update chain_rows c set written_at = greatest(c.written_at, w.written)
     from head, unnest(@rewritten.chain::bigint[], @rewritten.module::smallint[], @rewritten.recordId::text[], @rewritten.writtenAt::timestamptz[]) as w(chain, module, record, written)
     where c.chain_no = w.chain and c.module_no = w.module and c.record_id = w.record and c.how in (1, 2)),
   unmapped as (
     insert into unmapped_cells (run_no, flow_no, field, cells)
     select @run, flow, field, cells from head, unnest(@unmapped.flow::smallint[], @unmapped.field::text[], @unmapped.cells::bigint[]) as u(flow, field, cells)
     on conflict (run_no, flow_no, field) do update set cells = unmapped_cells.cells + excluded.cells),
   marks as (
     select r.org_id, r.connector_id, m.module, m.record_id, m.marks, m.is_sure
     from head, runs r, unnest(@marked.module::text[], @marked.recordId::text[], @marked.marks::bytea[], @marked.isSure::boolean[]) as m(module, record_id, marks, is_sure)
     where r.run_no = @run order by m.module, m.record_id),
   marked as (
     insert into written_records (org_id, connector_id, module, record_id, marks)
     select org_id, connector_id, module, record_id, marks from marks where is_sure
     on conflict (org_id, connector_id, module, record_id) do update set marks = merge_marks(written_records.marks, excluded.marks),
       touched_at = excluded.touched_at),
   widened as (
     update written_records w set marks = widen_marks(w.marks, m.marks) from marks m
     where not is_sure and w.org_id = m.org_id and w.connector_id = m.connector_id and w.module = m.module and w.record_id = m.record_id),
   queued as (
     insert into verify_queue (run_no, fence, settle_no, records, rows, counted_rows, sealed)
     select @run, @fence, @settleNo, records::text[], rows, counted_rows, sealed
     from head, unnest(@queued.records::text[], @queued.rows::int[], @queued.countedRows::int[], @queued.sealed::bytea[]) as q(records, rows, counted_rows, sealed))
   select case when exists (select from head) then (select base from head) else stop_if('the gate of T2 is shut') end as base, (select held from head) as held`)
