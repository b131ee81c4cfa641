import {setTimeout as sleep} from 'node:timers/promises'
import {startS3} from '../simulators/s3.ts'
import {createDatabase} from '../support/database.ts'
import {openProxy} from '../support/tcp-proxy.ts'
import {carryCase, environment, type Ground, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {standWorker} from './fleet.ts'
import {openProbe} from './probe.ts'
import type {Scenario, Stage} from './scenario.ts'

const keys = {bucket: 'records', accessKeyId: 'AKFAULTS', secretAccessKey: 'of-the-stand-in', region: 'us-east-1'}

/**
 * Breaks network connections one at a time. The API and each of two workers have separate proxies to Postgres. All of them share one proxy to
 * storage and one to the CRM.
 */
export const partitions: Scenario = {
  row: 'R6',
  fault: 'wires from workers and the API to Postgres, to the CRM and to the storage are cut, fall silent, are half open, slow and narrow',
  goal: 'no call exceeds its time-out, pools recover, and a lost lease duplicates nothing',
  async play(stage) {
    const {here, ground, wires} = await openWired(stage)
    here.crm.setSwitches({latencyMs: 40})
    const probe = openProbe(ground.org, {everyMs: 200})
    let [at, written] = [0, 0]
    const carry = async (breaking: () => Promise<unknown>) => {
      const prepared = await prepareCase(ground, writeCase(stage.asked.seed + at++, stage.dice, 200))
      const carried = await carryCase(ground, prepared, async () => {
        await sleep(stage.dice.between(200, 600))
        await breaking()
      })
      stage.judged(await carried.judge())
      written += carried.run.rowsWritten
    }
    const {api, crm, storage, workers} = wires
    const pastLeaseMs = here.config.LEASE_SECONDS * 2_000
    await carry(async () => {
      for (const wire of workers) {
        wire.silence()
        stage.did('silences')
        await sleep(pastLeaseMs)
        wire.restore()
      }
    })
    await carry(async () => {
      for (const [act, ms] of [
        [crm.silence, 1_500],
        [crm.cut, 500],
        [() => crm.slow({latencyMs: 150, bytesPerSecond: 64_000}), 3_000],
      ] as const) {
        act()
        stage.did(act === crm.cut ? 'cuts' : act === crm.silence ? 'silences' : 'slow spells')
        await sleep(ms)
        crm.restore()
      }
      crm.halfOpen()
      stage.did('half-open wires')
    })
    await carry(async () => {
      storage.cut()
      stage.did('cuts')
      await expectRefusal(ground, stage)
      storage.restore()
    })
    const began = performance.now()
    await carry(async () => {
      for (const wire of workers) wire.halfOpen()
      api.silence()
      stage.did('half-open wires', workers.length)
      stage.did('silences')
      const asked = probe.answers.length
      while (probe.answers.length < asked + 10) await sleep(50)
      api.restore()
      stage.figure('ms until the API was well again', Math.round(await probe.recovers()), {most: 5_000})
    })
    stage.figure('s until a run whose workers were both half open had ended', (performance.now() - began) / 1_000, {most: 60})
    stage.figure('rows written', written, {least: 1})
    // A query times out after 35 s, and waiting for a connection adds up to 5 s.
    await probe.end(here, stage, {longestMs: 42_000})
  },
}

const openWired = async (stage: Stage) => {
  const database = await createDatabase('faults R6')
  stage.begun(database.drop)
  const s3 = await startS3(keys)
  stage.begun(s3.stop)
  const openWire = async (target: string) => {
    const wire = await openProxy(target)
    stage.begun(wire.close)
    return wire
  }
  const [api, storage] = [await openWire(database.url), await openWire(s3.url)]
  const s3Variables = {
    S3_BUCKET: keys.bucket,
    S3_REGION: keys.region,
    S3_ENDPOINT: storage.url.replace(/\/$/, ''),
    S3_ACCESS_KEY_ID: keys.accessKeyId,
    S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
  }
  // The public URL of the stand-in is that of the proxy. So the proxy starts before the stand-in and gets its target later.
  const crm = await openWire('http://127.0.0.1:1')
  const publicUrl = crm.url.replace(/\/$/, '')
  const here = await stage.open({
    workers: ['discovery'],
    environment: {...environment, ...s3Variables, DATABASE_URL: api.url},
    crm: {publicUrl},
  })
  crm.aim(`http://127.0.0.1:${here.crm.port}`)
  const ground = await openGround(here)
  const workers = [await openWire(database.url), await openWire(database.url)]
  for (const {url} of workers) await standWorker(here, stage, {...s3Variables, DATABASE_URL: url})
  return {here, ground, wires: {api, crm, storage, workers}}
}

/** Checks that the API answers an upload with 503 while storage is away. */
const expectRefusal = async ({org: {call, org, connector}}: Ground, stage: Stage) => {
  const made = await call('POST', `/orgs/${org}/imports`, {name: 'No storage', connectorId: connector})
  const answer = await call('POST', `/orgs/${org}/imports/${made.body.import.id}/sources?name=a.csv`, 'a\n1\n', {
    'content-type': 'text/csv',
  })
  stage.expect(answer.status === 503, `a file without storage was answered ${answer.status} ${answer.text}`)
}
