import type {Change} from './mutant.ts'

/** Removes the fence. A worker that wakes up after a takeover then continues as if it still owned the run. */
export const noFence: Change[] = [
  {
    file: 'sql/ledger.ts',
    from: 'fence = @fence::bigint and lease_until > lading_now() and stop is null',
    to: '@fence::bigint > 0 and stop is null',
  },
  {
    file: 'sql/settle-statement.ts',
    from: 'fence = @fence and lease_until > lading_now() and settle_no = @settleNo - 1\n       and (select count(*) from gone) = cardinality(@batches)',
    to: '@fence > 0',
  },
  {
    file: 'sql/run-heads.ts',
    from: 'where run_no = $1::bigint and fence = $2::bigint and lease_until > lading_now()\n',
    to: 'where run_no = $1::bigint and $2::bigint > 0\n',
  },
]

/** Removes the settlement of rows in flight after a takeover from a dead worker. */
export const noClose: Change[] = [
  {
    file: 'workers/engine/recover/settle-open-sends.ts',
    from: 'const sends = await listSends(ctx.db, ctx.run.no)',
    to: 'const sends: Send[] = []',
  },
]
