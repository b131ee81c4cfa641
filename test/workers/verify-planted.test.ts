import test from 'ava'
import type {Rewrite} from '../simulators/crm/rewrites.ts'
import {type Org, ok, openOrg, runImport, accounts as writing} from '../support/importing.ts'
import {choices} from '../support/sealed-plans.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const rows = 1_200

let here: TestDeployment
let org: Org

test.before(async t => {
  const environment = {LEASE_SECONDS: '5', CRM_LAG_SECONDS: '1', VERIFY_AFTER_SECONDS: '1'}
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.setSwitches({rewrites: []}))

const flow = {
  ...writing,
  fields: [...writing.fields, {field: 'Phone', mode: 'column', source: 'phone'}, {field: 'Industry', mode: 'column', source: 'branch'}],
}
const fields = ['Account_Name', 'Account_Number', 'Billing_City', 'Phone', 'Industry']

/** What the CRM does to a value of a row, with the share of the rows that it affects and the expected result of the verification. */
const plants = [
  {name: 'cut', share: 0.04, rewrite: {how: 'cut', field: 'Account_Name', length: 9}, result: 'truncated'},
  {name: 'fold', share: 0.03, rewrite: {how: 'fold', field: 'Billing_City'}, result: 'coerced'},
  {name: 'replace', share: 0.03, rewrite: {how: 'store', field: 'Phone', value: '+1 555 0100'}, result: 'coerced'},
  {name: 'workflow', share: 0.04, rewrite: {how: 'workflow', field: 'Industry', value: 'Insurance'}, result: 'changed'},
  {name: 'delete', share: 0.02, rewrite: {how: 'delete'}, result: 'missing'},
] as const

for (const seed of [1, 2, 3, 4, 5, 6])
  test.serial(`verification finds every planted difference and nothing else (seed ${seed})`, async t => {
    const is = choices(seed)
    const prefix = `P${seed}-`
    const numbers = Array.from({length: rows}, (_, n) => n + 1)
    const there = numbers.filter(n => is(`there ${n}`, 0.5)).map(n => ({Account_Name: 'Before', Account_Number: `${prefix}${n}`}))
    here.crm.create('example', 'Accounts', there as any)
    const planted = plants.map(plant => ({...plant, rows: new Set(numbers.filter(n => is(`${plant.name} ${n}`, plant.share)))}))
    const rewrites = planted.map(({rewrite, rows: of}): Rewrite => {
      const where = {field: 'Account_Number', values: [...of].map(n => `${prefix}${n}`)}
      return {module: 'Accounts', where, ...rewrite}
    })
    here.crm.setSwitches({rewrites})
    const lines = numbers.map(n => `Company Number ${n},${prefix}${n},Town ${n % 7},+49 30 ${1000 + n},Banking`)
    const csv = `name,number,city,phone,branch\n${lines.join('\n')}\n`
    const {path, run} = await runImport(org, {csv, flow, start: {verify: 'all'}})

    const has = (name: string, n: number) => planted.find(plant => plant.name === name)!.rows.has(n)
    const expected = numbers.flatMap(n => {
      if (has('delete', n)) return fields.map(field => `${n} ${field} missing`)
      // A value that the CRM replaced counts as changed if a workflow changed the record later, because the workflow may have replaced it.
      const resultOf = (name: string, result: string) => (name === 'replace' && has('workflow', n) ? 'changed' : result)
      return planted.flatMap(({name, rewrite, result, rows: of}) =>
        of.has(n) && 'field' in rewrite ? [`${n} ${rewrite.field} ${resultOf(name, result)}`] : [],
      )
    })
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: any = await ok(org.call('GET', `${path}/runs/${run.id}/verify${cursor && `?cursor=${cursor}`}`), 200)
      found.push(...page.differences.map(({rowNumber, field, result}: any) => `${rowNumber} ${field} ${result}`))
      cursor = page.nextCursor
    }
    t.deepEqual(found.toSorted(), expected.toSorted())
    const rowsWith = (...results: string[]) =>
      new Set(expected.filter(one => results.includes(one.split(' ')[2]!)).map(one => Number.parseInt(one, 10))).size
    t.like(run, {
      stop: null,
      counts: {Accounts: {created: rows - there.length, updated: there.length}},
      verify: {
        mode: 'all',
        rows,
        missing: rowsWith('missing'),
        unread: 0,
        waiting: 0,
        unverified: 0,
        coerced: rowsWith('truncated', 'coerced'),
        changed: rowsWith('changed'),
      },
    })
  })
