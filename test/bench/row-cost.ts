import {readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import {type Deployment, startDeployment} from './deployment.ts'
import {processorSecondsOf} from './process-use.ts'
import {fileOf, withExpressions} from './rows.ts'

const rows = 200_000
const archivedWithinMs = 120_000

/**
 * Measures the cost of a row, from its file until its log is in storage: bytes in Postgres during the run, bytes of write-ahead log, bytes
 * in storage, and processor time of all processes but the CRM, which does nothing here. One run of 200,000 rows with ten expressions is
 * enough, because other load on the machine does not change these sums.
 */
export const measureRowCost = async () => {
  const deployment = await startDeployment('cost', {crm: ['test/bench/idle-crm.ts'], beside: ['archive']})
  try {
    // The first run does not count, because it compiles the code.
    await untilArchived(deployment, (await deployment.runImport({csv: fileOf(5_000, 'first '), flow: withExpressions})).no)
    const csv = fileOf(rows, 'cost ')
    const before = await readCosts(deployment)
    const {no} = await deployment.runImport({csv, flow: withExpressions})
    const written = await readCosts(deployment)
    await untilArchived(deployment, no)
    const after = await readCosts(deployment)
    const [stored] = await deployment.query<{bytes: number}>(`select sum(bytes)::float8 as bytes from segments where run_no = $1`, [no])
    const perMillion = (seconds: number) => (seconds / rows) * 1_000_000
    return {
      rowFileBytes: csv.length / rows,
      rowPostgresBytes: (written.bytes - before.bytes) / rows,
      rowWalBytes: (after.wal - before.wal) / rows,
      rowStorageBytes: stored!.bytes / rows,
      importsSecondsPerMillion: perMillion(written.imports - before.imports),
      postgresSecondsPerMillion: perMillion(after.postgres - before.postgres),
      apiSecondsPerMillion: perMillion(written.web - before.web),
      archiveSecondsPerMillion: perMillion(after.archive - written.archive),
      postgresOverImports: (after.postgres - before.postgres) / (written.imports - before.imports),
    }
  } finally {
    await deployment.stop()
  }
}

/** Reads what has been used so far: the bytes of the database, the bytes of write-ahead log, and the processor seconds of each process. */
export const readCosts = async ({query, pidOf}: Deployment) => {
  const [found] = await query<{bytes: number; wal: number; pid: number}>(
    `select pg_database_size(current_database())::float8 as bytes, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal, pg_backend_pid() as pid`,
  )
  const alive = await query<{pid: number}>('select pid from pg_stat_activity')
  const postmaster = parentOf(found!.pid)
  return {
    bytes: found!.bytes,
    wal: found!.wal,
    imports: processorSecondsOf(pidOf('imports')),
    web: processorSecondsOf(pidOf('web')),
    archive: processorSecondsOf(pidOf('discovery')),
    // The time of an ended process counts for its parent.
    postgres: childrenSecondsOf(postmaster) + alive.reduce((sum, {pid}) => sum + secondsOrNone(pid), 0),
  }
}

const parentOf = (pid: number) => Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

const childrenSecondsOf = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/**
 * Returns the processor seconds of a process, or 0 if it has ended since it was listed. The next measurement then counts its time for its
 * parent.
 */
const secondsOrNone = (pid: number) => {
  try {
    return processorSecondsOf(pid)
  } catch {
    return 0
  }
}

const untilArchived = async ({query}: Deployment, no: number) => {
  for (const until = Date.now() + archivedWithinMs; Date.now() < until; await sleep(100)) {
    const [run] = await query<{archived: boolean}>('select archived from runs where run_no = $1', [no])
    if (run!.archived) return
  }
  throw new Error(`The records of run ${no} were not moved to storage`)
}
