import {execFileSync} from 'node:child_process'
import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import pg from 'pg'
import {type Cluster, startPostgres} from '../stack/postgres.ts'
import {createDatabase} from '../support/database.ts'
import {openProxy} from '../support/tcp-proxy.ts'
import {until} from '../support/until.ts'
import {endPostgres} from './own-postgres.ts'
import type {Stage} from './scenario.ts'

/** A Postgres with a synchronous streaming replica for one scenario. A proxy in front of both leads to the primary. */
export type FailoverCluster = {
  /** URL of the database on the current primary, through the proxy. */
  url: string
  /** Crashes the primary (immediate shutdown), promotes the replica and directs the proxy to the replica. The old primary stays stopped. */
  failOver(): Promise<void>
}

/** Opens a primary with a replica. The replica starts from a copy of the stopped primary, as the packaged Postgres has no `pg_basebackup`. */
export const openFailoverCluster = async (stage: Stage): Promise<FailoverCluster> => {
  const requested = mkdtempSync(join(tmpdir(), 'lading-pair-'))
  const prepared = await startPostgres({directory: requested, keep: true})
  const [first, second] = [prepared.directory, `${prepared.directory}-replica`]
  stage.begun(async () => {
    for (const path of [requested, first, second]) rmSync(path, {recursive: true, force: true})
  })
  const database = await createDatabase(`faults ${stage.asked.seed}`, prepared.url)
  await prepared.stop()
  // `cp -a` keeps the owner of the files, who is the user of Postgres.
  execFileSync('cp', ['-a', first, second])
  execFileSync('cp', ['-a', join(second, 'data', 'PG_VERSION'), join(second, 'data', 'standby.signal')])
  const primary = await startPostgres({directory: first, keep: true, flags: ['synchronous_standby_names=*']})
  stage.begun(primary.stop)
  const replica = await startPostgres({directory: second, keep: true, flags: [`primary_conninfo=${connectionOf(primary)}`]})
  stage.begun(replica.stop)
  await until(() => ask(primary, "select count(*) = 1 as yes from pg_stat_replication where sync_state = 'sync'"), Boolean)
  const wire = await openProxy(atCluster(database.url, primary))
  stage.begun(wire.close)
  return {
    url: wire.url,
    async failOver() {
      endPostgres(primary, 'SIGQUIT')
      await primary.ended
      await ask(replica, 'select pg_promote() as yes')
      wire.aim(replica.url)
    },
  }
}

const connectionOf = ({url}: Cluster) => {
  const {hostname, port, username, password} = new URL(url)
  return `host=${hostname} port=${port} user=${username} password=${password}`
}

const atCluster = (url: string, {port}: Cluster) => {
  const moved = new URL(url)
  moved.port = String(port)
  return moved.href
}

const ask = async ({url}: Cluster, text: string): Promise<boolean> => {
  const client = new pg.Client({connectionString: url})
  await client.connect()
  try {
    return (await client.query<{yes: boolean}>(text)).rows[0]!.yes
  } finally {
    await client.end()
  }
}
