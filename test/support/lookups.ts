import assert from 'node:assert/strict'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {type Org, ok, untilEnded} from './importing.ts'
import {finalsOf} from './oracle.ts'
import type {TestDeployment} from './test-deployment.ts'

export const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})

type Files = Record<string, string>

/**
 * Creates an import of several files. The `source` of a flow is the name of a file. Returns the path of the import and the source ids by file
 * name.
 */
export const prepareFiles = async ({call, org, connector}: Org, files: Files, flows: ({source: string} & Record<string, unknown>)[]) => {
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {name: 'Linked', connectorId: connector}), 201)
  const path = `/orgs/${org}/imports/${made.id}`
  const ids: Record<string, string> = {}
  for (const [name, csv] of Object.entries(files)) {
    const {source} = await ok(call('POST', `${path}/sources?name=${name}.csv`, csv, {'content-type': 'text/csv'}), 201)
    ids[name] = source.id
  }
  await ok(
    call(
      'PUT',
      `${path}/flows`,
      flows.map(({source, ...flow}) => ({...flow, sourceId: ids[source]})),
    ),
    200,
  )
  return {path, ids}
}

export const runFiles = async (org: Org, files: Files, flows: Parameters<typeof prepareFiles>[2], start: object = {}) => {
  const {path, ids} = await prepareFiles(org, files, flows)
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return {path, ids, run: await untilEnded(org.call, `${path}/runs/${run.id}`)}
}

export const companies = (more: object = {}) => ({
  id: 'companies',
  source: 'companies',
  module: 'Accounts',
  match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Account_Name', 'name'), column('Account_Number', 'number')],
  ...more,
})

/** Returns a flow of contacts that are matched by email address and belong to an account. */
export const people = (parent: object, more: object = {}) => ({
  id: 'people',
  source: 'people',
  module: 'Contacts',
  match: {by: ['Email'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Last_Name', 'last'), column('Email', 'mail')],
  parent: {field: 'Account_Name', flow: 'companies', ...parent},
  ...more,
})

export const accountOf = ({crm}: TestDeployment, number: string): any =>
  crm.records('example', 'Accounts').find(({Account_Number}) => Account_Number === number)

type EndedImport = {run: any; log: any[]; rows: Record<string, number>}

/**
 * Asserts the invariants after a run of several flows. The log numbers and the attempts of a row have no gap. Every row has an outcome, and the
 * run's counts equal the log. The run leaves no batches in flight, admissions, cursors and parent keys.
 */
export const assertLinked = async ({db}: TestDeployment, {run, log, rows}: EndedImport) => {
  assert.deepEqual(
    log.map(({seq}) => seq),
    Array.from(log, (_, at) => at + 1),
    'the log has no gap',
  )
  const counted: Record<string, number> = {}
  for (const [flow, count] of Object.entries(rows)) {
    const finals = finalsOf(log.filter(({flowId}) => flowId === flow))
    assert.equal(finals.size, count, `every row of ${flow} has its end`)
    for (const {module, outcome} of finals.values()) counted[`${module} ${outcome}`] = (counted[`${module} ${outcome}`] ?? 0) + 1
  }
  const told = Object.entries<Record<string, number>>(run.counts).flatMap(([module, counts]) =>
    Object.entries(counts).flatMap(([outcome, count]) => (count ? [[`${module} ${outcome}`, count] as const] : [])),
  )
  assert.deepEqual(Object.fromEntries(told), counted, 'the run counts what the log says')
  for (const [key, entries] of Map.groupBy(log, ({rowKey, phase}) => `${rowKey} ${phase}`)) {
    const attempts = [...new Set(entries.map(({attempt}) => attempt))].sort((a, b) => a - b)
    assert.deepEqual(
      attempts,
      attempts.map((_, at) => at + Math.min(1, attempts[0])),
      `attempts of ${key} have no gap`,
    )
  }
  const left = await db.one(sql.type(
    z.object({sends: z.number(), admissions: z.number(), cursors: z.number(), keys: z.number(), counted: z.number()}),
  )`
    select (select count(*) from sends where run_no = r.run_no) as sends, (select count(*) from admissions where run_no = r.run_no) + (select count(*) from admitted_blocks where run_no = r.run_no) as admissions,
      (select count(*) from run_cursors where run_no = r.run_no) as cursors, (select count(*) from run_parent_keys where run_no = r.run_no) as keys,
      h.counted
    from runs r join run_heads h using (run_no) where id = ${run.id}`)
  assert.deepEqual(left, {sends: 0, admissions: 0, cursors: 0, keys: 0, counted: run.rowsWritten})
}
