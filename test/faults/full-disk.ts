import {execFile} from 'node:child_process'
import {mkdtemp, open, readdir, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {ok} from '../support/importing.ts'
import {until} from '../support/until.ts'
import {MiB, rowsOf} from '../support/uploads.ts'
import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import type {Stage} from './scenario.ts'

const run = promisify(execFile)
const rows = 300

/** Mounts a disk of 8 MiB, or returns null if this machine cannot. */
const openDisk = async (stage: Stage): Promise<string | null> => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-disk-'))
  stage.begun(() => rm(directory, {recursive: true, force: true}))
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory]).then(
    () => true,
    () => false,
  )
  if (mounted) stage.begun(() => run('umount', [directory]))
  return mounted ? directory : null
}

/** Fills the disk that holds the files. Checks an upload while the disk is full, then the move of a run's records to the full disk. */
export const fillDisk = async (stage: Stage) => {
  const directory = await openDisk(stage)
  stage.figure('without a disk that can be filled', directory ? 0 : 1)
  if (!directory) return
  const workers = ['discovery', 'imports', 'archive']
  const ground = await openGround(await stage.open({workers, environment: {...environment, STORAGE_DIR: directory}}))
  const {here, org} = ground
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Full', connectorId: org.connector}), 201)
  const at = `/orgs/${org.org}/imports/${made.id}/sources?name=large.csv`
  const upload = () => org.call('POST', at, rowsOf(5 * MiB), {'content-type': 'text/csv'})
  await ok(upload(), 201)
  const {status, body, headers} = await upload()
  stage.did('uploads without room')
  stage.expect(
    status === 503 && body.code === 'UNAVAILABLE' && headers.get('retry-after') === '60' && /storage is full/.test(body.error),
    `an upload without room was answered ${status} ${body.code}: ${body.error}`,
  )
  const files = (await readdir(directory, {recursive: true, withFileTypes: true})).filter(entry => entry.isFile())
  stage.figure('files left beside the one that was taken', files.length - 1, {most: 0})

  const prepared = await prepareCase(ground, writeCase(0, stage.dice, rows))
  const filler = join(directory, 'filler')
  await fill(filler)
  const carried = await carryCase(ground, prepared)
  const {id} = carried.run
  const standing = async () =>
    (await here.hot.query('select archive_tries as tries, records_at as at, archived from runs where id = $1', [id])).rows[0]
  const kept = await until(standing, ({tries, archived}) => tries > 0 || archived)
  stage.expect(kept.at === 'db', 'records were moved onto a disk without room')
  await ok(org.call('GET', `${prepared.path}/runs/${id}/records`), 200)
  stage.did('moves without room')
  await rm(filler)
  const look = async () => {
    await here.hot.query('update runs set archive_after = null where id = $1 and not archived', [id])
    return (await standing()).archived as boolean
  }
  await until(look, Boolean)
  stage.judged(await carried.judge())
}

/** Fills the disk until not one byte is left. */
const fill = async (path: string) => {
  await using file = await open(path, 'wx')
  for (const size of [64 * 1024, 4 * 1024, 1]) while (await file.appendFile(Buffer.alloc(size)).then(() => true, isFull));
}

const isFull = (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOSPC') return false
  throw error
}
