import {once} from 'node:events'
import {readFile} from 'node:fs/promises'
import test from 'ava'
import {openFile} from '../../shared/files/stored-file.ts'
import {sql} from '../../sql/database.ts'
import {findSource} from '../../sql/sources.ts'
import {checkImport} from '../support/import-checks.ts'
import {openOrg, prepareImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const flow = {
  module: 'Orders',
  match: {by: ['Code']},
  fields: [
    column('Name', 'name', {transform: 'helpers.trim(value)'}),
    column('Code', 'code'),
    column('Reference', 'ref'),
    column('Quantity', 'qty'),
    column('Order_Date', 'day'),
    column('Status', 'status'),
  ],
}
/**
 * Returns a file in which one row in seven has an invalid quantity. Codes and references are unique, but the last row repeats those of the
 * second.
 */
const csvOf = (rows: number, prefix: string) => {
  const lines = Array.from({length: rows}, (_, n) => {
    const last = n === rows - 1 ? 1 : n
    return `Order ${n},${prefix}-${last},${prefix}-r${last},${n % 7 ? n : 'none'},2026-03-${10 + (n % 20)},New`
  })
  return `name,code,ref,qty,day,status\n${lines.join('\n')}\n`
}

const peakMb = async (pid: number) => Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

/** The measured peaks include memory that is not returned yet, so they level off only beyond 250,000 rows. */
test('a check of a file three times as long takes at most half as much memory again, and counts every row', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery'], environment: {RATE_PER_BEARER: '0'}})
  const org = await openOrg(here)
  const worker = startWorker(here.config, {NODE_OPTIONS: '--max-semi-space-size=8'}, ['checks'])
  t.teardown(() => endWorker(worker))
  await once(worker, 'spawn')
  const peaks: number[] = []
  for (const rows of [80_000, 240_000]) {
    const {path, source} = await prepareImport(org, {csv: csvOf(rows, `n${rows}`), flow})
    const {job, problems, checks} = await checkImport(org, path)
    peaks.push(await peakMb(worker.pid!))
    t.is(checks.rows, rows)
    const bad = Math.ceil(rows / 7)
    t.is(problems.find(({kind}) => kind === 'invalid_value').count, bad)
    t.like(
      problems.find(({kind}) => kind === 'duplicate_match'),
      {count: 1, rows: [rows], samples: [`n${rows}-1`]},
    )
    t.is(problems.length, 2)
    t.like(job, {progress: {done: rows, total: rows}})
    const importNo = await here.db.oneFirst(sql.unsafe`select import_no from imports where id = ${path.split('/').at(-1)!}`)
    const stored = await findSource(here.db, {importNo: importNo as number, id: source.id})
    const began = performance.now()
    for await (const chunk of (await openFile(here, stored!)).rows) if (chunk.length === 0) t.fail()
    const reading = performance.now() - began
    const checking = Date.parse(checks.endedAt) - Date.parse(checks.startedAt)
    t.log(
      `${rows} rows: checked in ${checking} ms, ${(checking / reading).toFixed(1)} × reading alone; peak ${peaks.at(-1)!.toFixed(0)} MB`,
    )
  }
  t.true(peaks[1]! <= 400, `${peaks} MB`)
  t.true(peaks[1]! <= 1.5 * peaks[0]!, `${peaks} MB`)
})
