import {randomBytes} from 'node:crypto'
import {startS3} from '../simulators/s3.ts'
import type {HttpAnswer} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {openStallingProxy} from '../support/stalling-proxy.ts'
import {openProxy} from '../support/tcp-proxy.ts'
import {until} from '../support/until.ts'
import {MiB, openUpload, rowsOf} from '../support/uploads.ts'
import {carryCase, environment, type Ground, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {fillDisk} from './full-disk.ts'
import type {Scenario, Stage} from './scenario.ts'

const account = {bucket: 'lading', accessKeyId: 'AKIALADING', secretAccessKey: randomBytes(8).toString('hex'), region: 'us-east-1'}
const rows = 600

/** Runs uploads and an import with a bucket behind proxies that cut and stall, then with a directory on a full disk. */
export const storageFails: Scenario = {
  row: 'R9',
  fault: 'storage refuses, resets in mid-upload, is slow, answers 503, and is full',
  goal: 'an upload fails with a code and leaves no half object; a run waits for its file, keeps its records in Postgres, and is moved later',
  async play(stage) {
    await breakBucket(stage)
    await fillDisk(stage)
  },
}

/** `bucket`: the S3 stand-in with its objects. `wire`: a proxy that can cut connections. `slow`: a proxy that can stall the traffic. */
type Site = {stage: Stage; ground: Ground; path: string; bucket: Awaited<ReturnType<typeof startS3>>} & Wires
type Wires = {wire: Awaited<ReturnType<typeof openProxy>>; slow: Awaited<ReturnType<typeof openStallingProxy>>}

const breakBucket = async (stage: Stage) => {
  const bucket = await startS3(account)
  stage.begun(bucket.stop)
  const wire = await openProxy(bucket.url)
  stage.begun(wire.close)
  const slow = await openStallingProxy(wire.url)
  stage.begun(slow.close)
  const place = {S3_BUCKET: account.bucket, S3_ENDPOINT: slow.url}
  const keys = {S3_ACCESS_KEY_ID: account.accessKeyId, S3_SECRET_ACCESS_KEY: account.secretAccessKey}
  const workers = ['discovery', 'imports', 'archive']
  const ground = await openGround(await stage.open({workers, environment: {...environment, ...place, ...keys}}))
  const {call, org, connector} = ground.org
  const made = await ok(call('POST', `/orgs/${org}/imports`, {name: 'Uploads', connectorId: connector}), 201)
  const site = {stage, ground, path: `/orgs/${org}/imports/${made.import.id}`, bucket, wire, slow}
  await breakUploads(site)
  await breakRun(site)
}

const large = rowsOf(12 * MiB)

const breakUploads = async (site: Site) => {
  const {stage, ground, path, bucket, wire, slow} = site
  const upload = (body: Buffer) => ground.org.call('POST', `${path}/sources?name=large.csv`, body, {'content-type': 'text/csv'})
  const breaks: Record<string, () => Promise<HttpAnswer>> = {
    async refused() {
      wire.cut()
      return upload(large)
    },
    async 'reset in mid-upload'() {
      slow.stallAfter(4 * MiB)
      const [from, sending] = [slow.passed(), upload(large)]
      await until(slow.passed, passed => passed - from >= 4 * MiB)
      wire.cut()
      return sending
    },
    async '503'() {
      bucket.faults.push({method: 'PUT', times: 50, action: {status: 503}}, {method: 'POST', times: 50, action: {status: 503}})
      return upload(large)
    },
  }
  for (const [what, broken] of Object.entries(breaks)) {
    expectTold(stage, await broken(), `an upload that was ${what}`)
    stage.did(`uploads ${what}`)
    slow.letGo()
    wire.restore()
    bucket.faults.length = 0
    await expectWhole(site, `after an upload that was ${what}`)
    stage.expect((await upload(large)).status === 201, `sent again after it was ${what}, a file is not taken`)
  }
  slow.stallAfter(MiB)
  const [from, sending] = [slow.passed(), upload(large)]
  await until(slow.passed, passed => passed - from >= MiB)
  await new Promise(resolve => setTimeout(resolve, 2_000))
  slow.letGo()
  stage.expect((await sending).status === 201, 'a storage that stalls for two seconds does not get the file')
  stage.did('uploads stalled')
  await breakPart(site)
  await expectWhole(site, 'after all uploads')
}

/**
 * Cuts off storage during an upload in parts. The rejected part does not move the offset, and after the repair the client sends this part and
 * the rest.
 */
const breakPart = async ({stage, ground, path, wire}: Site) => {
  const sent = await openUpload(ground.org.call, path, {bytes: rowsOf(3 * MiB)})
  await ok(sent.send(0), 200)
  wire.cut()
  expectTold(stage, await sent.send(MiB), 'a part that was refused')
  stage.did('parts refused')
  wire.restore()
  stage.expect((await sent.read()).offset === MiB, 'a part the storage refused moved the offset')
  await sent.sendRest()
  stage.expect((await sent.finish()).status === 201, 'a file one part of which was refused cannot be finished')
}

const expectTold = (stage: Stage, {status, body, headers}: HttpAnswer, what: string) => {
  const isTold = status === 503 && body.code === 'UNAVAILABLE' && headers.get('retry-after') !== null
  stage.expect(isTold, `${what} was answered ${status} ${body.code}, to come again after ${headers.get('retry-after')}`)
}

/** Checks that the database names every object in storage, as a file or as an object to remove, and that every named file is complete. */
const expectWhole = async ({stage, ground, bucket}: Site, when: string) => {
  const {rows} = await ground.here.hot.query(
    'select file_key as key, bytes from sources union select key, bytes from upload_parts union select key, null from segments union select key, null from loose_objects',
  )
  const named = new Map(rows.map(({key, bytes}) => [key, bytes]))
  const half = [...bucket.objects.keys()].filter(key => !named.has(key))
  stage.expect(half.length === 0, `${when} storage has ${half.length} objects that nothing names`)
  const short = [...named].filter(([key, bytes]) => bytes !== null && bucket.objects.get(key)?.length !== Number(bytes))
  stage.expect(short.length === 0, `${when} ${short.length} files that rows name are not whole in storage`)
}

/** Cuts off storage before a run begins, and again after the run has written its first rows. Archives its records only after its end. */
const breakRun = async (site: Site) => {
  const {stage, ground, wire} = site
  const {call} = ground.org
  const prepared = await prepareCase(ground, writeCase(5, stage.dice, rows))
  wire.cut()
  const pauses = new Set<string>()
  const carried = await carryCase(ground, prepared, async ({run, path, over}) => {
    await archiveFrom(ground, run, 'infinity')
    const read = async () => (await ok(call('GET', path), 200)).run
    const untilPaused = () => until(read, ({pause, state}) => state === 'ended' || (pause !== null && Boolean(pauses.add(pause.code))))
    await untilPaused()
    wire.restore()
    await until(read, ({state, rowsWritten}) => state === 'ended' || rowsWritten > 0)
    if (!over.aborted) wire.cut()
    // The run pauses once more, unless it needs no storage for its last rows.
    await untilPaused()
    wire.restore()
    stage.did('runs without their file')
  })
  stage.expect([...pauses].join() === 'UNAVAILABLE', `a run whose file is away lay down for ${[...pauses]}`)
  stage.expect(carried.run.stop === null, `a run whose file was away for a while was stopped: ${carried.run.stop?.stopped}`)
  const path = `${prepared.path}/runs/${carried.run.id}`
  wire.cut()
  await archiveFrom(ground, carried.run.id, null)
  await expectKept(site, path, carried.run.id)
  wire.restore()
  await moveRecords(ground, carried.run.id)
  stage.judged(await carried.judge())
  wire.cut()
  const {status, body, headers} = await call('GET', `${path}/records`)
  stage.expect(
    status === 503 && body.code === 'RECORDS_MOVING' && headers.get('retry-after') === '60',
    `records in a storage that is away: ${status} ${body.code}`,
  )
  wire.restore()
  await ok(call('GET', `${path}/records`), 200)
  await expectWhole(site, 'after a run')
}

/** Checks that records are read from Postgres while they cannot be archived, and that archiving was tried. */
const expectKept = async ({stage, ground: {here, org}}: Pick<Site, 'stage' | 'ground'>, path: string, id: string) => {
  const standing = async () =>
    (await here.hot.query('select archive_tries as tries, records_at as at, archived from runs where id = $1', [id])).rows[0]
  const {at} = await until(standing, ({tries, archived}) => tries > 0 || archived)
  stage.expect(at === 'db', 'the records of a run are said to be in a storage that is away')
  const {status} = await org.call('GET', `${path}/records`)
  stage.expect(status === 200, `records that could not be moved are answered ${status}`)
  stage.did('moves of records that failed')
}

const archiveFrom = ({here}: Ground, id: string, at: 'infinity' | null) =>
  here.hot.query('update runs set archive_after = $2 where id = $1', [id, at])

/** Makes the archiving of the run due again and again until it succeeds. */
export const moveRecords = async ({here}: Ground, id: string) => {
  const look = async () => {
    await here.hot.query('update runs set archive_after = null where id = $1 and not archived', [id])
    return (await here.hot.query('select archived from runs where id = $1', [id])).rows[0].archived as boolean
  }
  await until(look, Boolean)
}
