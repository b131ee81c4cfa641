import {setTimeout as sleep} from 'node:timers/promises'
import {readFileSync} from 'node:fs'
import {prepareImport, startRun} from './bench-import.ts'
import {startDeployment} from './deployment.ts'
import {setAllowance} from './matched-import.ts'
import {fileOf, plain} from './rows.ts'

const rows = Number(process.argv[2] ?? 30_000)
const flow = {...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'}}
const crm = ['test/simulators/crm.ts', '--control', '--latency', '400', '--no-bodies', '--journal', '10']
const d = await startDeployment('verify-cost', {crm, env: {CRM_LAG_SECONDS: '1', ...(process.env.VENV ? JSON.parse(process.env.VENV) : {})}, beside: ['credits']})
const cpuOf = (pid: number) => {
  const s = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(s[11]) + Number(s[12])) / 100
}
const busy = () => {
  const s = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/\s+/).slice(1).map(Number)
  const idle = s[3]! + s[4]!
  return {idle: idle / 100, all: s.reduce((a, b) => a + b) / 100}
}
try {
  await setAllowance(d)
  const [{client, org, connectorId}] = d.places
  await client.call('POST', `/orgs/${org}/connectors/${connectorId}/credits/check`)
  await d.runImport({csv: fileOf(rows, 'V-'), flow})
  for (const [n, verify] of (process.argv[3] ?? 'off,all,off,all').split(',').entries()) {
    const csv = Buffer.from(fileOf(rows, 'V-').toString().replaceAll('City ', `City ${verify} ${n} `))
    const prepared = await prepareImport(d.places[0], {csv, flow})
    const c0 = {i: cpuOf(d.pidOf('imports')), c: cpuOf(d.pidOf('crm')), b: busy()}
    const id = await startRun(prepared, {verify: verify as 'off' | 'all'})
    let written = 0, closing = 0, verifiedAtLastWrite = 0, lastVerified = 0
    let done = false
    const poll = (async () => {
      while (!done) {
        const [r] = await d.query<any>(`select extract(epoch from clock_timestamp())::float8 as now, r.state, extract(epoch from r.started_at)::float8 as s, (select sum(x) from unnest(h.counts) x)::int as rows, coalesce(h.verified[1], 0)::int as v from runs r join run_heads h using (run_no) where r.id = $1`, [id])
        if (r?.s) {
          if (r.rows >= rows && !written) { written = r.now - r.s; verifiedAtLastWrite = r.v }
          if (r.v >= rows && !lastVerified) lastVerified = r.now - r.s
          if (r.state === 'closing' && !closing) closing = r.now - r.s
        }
        await sleep(40)
      }
    })()
    const [ended] = await d.ended([id])
    done = true
    await poll
    const b = busy()
    console.log(JSON.stringify({verify, seconds: +ended!.seconds.toFixed(2), written: +written.toFixed(2), verifiedAtLastWrite, lastVerified: +lastVerified.toFixed(2), closing: +closing.toFixed(2), cpuImports: +(cpuOf(d.pidOf('imports')) - c0.i).toFixed(1), cpuCrm: +(cpuOf(d.pidOf('crm')) - c0.c).toFixed(1), machineBusy: +(1 - (b.idle - c0.b.idle) / (b.all - c0.b.all)).toFixed(2)}))
  }
} finally {
  await d.stop()
}
