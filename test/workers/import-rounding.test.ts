import test from 'ava'
import {parse} from 'csv-parse/sync'
import {checkImport} from '../support/import-checks.ts'
import {accounts, ok, openOrg, prepareImport, readLog, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const fields = [...accounts.fields, {field: 'Annual_Revenue', mode: 'column', source: 'revenue'}]
const csv = 'name,number,city,revenue\nOne,Ro-1,Town,12.345\nTwo,Ro-2,Town,12.34\nThree,Ro-3,Town,7.5000\n'
const said = 'Annual_Revenue was rounded from more decimal places'

test('a value with too many decimal places is written rounded, and the check, the log and the results report it', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery', 'checks']})
  const org = await openOrg(here)
  const flow = {...accounts, fields}
  const {path: checked} = await prepareImport(org, {csv, flow})
  const {problems} = await checkImport(org, checked)
  t.like(
    problems.filter(({kind}: {kind: string}) => kind === 'rounded'),
    [{severity: 'info', field: 'Annual_Revenue', column: 'revenue', count: 1, rows: [1], samples: ['12.345']}],
  )
  const read = async (file: string, outcome: string) => {
    const {path, run} = await runImport(org, {csv: file, flow})
    const log = await readLog(org.call, `${path}/runs/${run.id}`)
    t.deepEqual(
      log.map((entry: any) => [entry.rowNumber, entry.outcome, entry.code, entry.message]),
      [
        [1, outcome, null, said],
        [2, outcome, null, null],
        [3, outcome, null, null],
      ],
    )
    const lines = parse((await org.call('GET', `${path}/results.csv?run=${run.id}`)).text) as string[][]
    t.deepEqual(
      lines.slice(1).map(line => [line[4], line.at(-1)]),
      [
        ['Written', said],
        ['Written', ''],
        ['Written', ''],
      ],
    )
  }
  await read(csv, 'created')
  await read(csv.replaceAll('Town', 'Village'), 'updated')
  const {records} = await ok(
    org.call('GET', `/orgs/${org.org}/connectors/${org.connector}/records/Accounts/search?field=Account_Number&value=Ro-1`),
    200,
  )
  t.is(records[0].Annual_Revenue, 12.35)
})
