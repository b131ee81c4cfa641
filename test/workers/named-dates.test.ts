import test from 'ava'
import {ok, openOrg, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('dates with the names of months are written without a question, also beside dates whose order is proved', async t => {
  const house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  const org = await openOrg(house)
  const flow = {
    module: 'Contacts',
    match: null,
    fields: [
      {field: 'Last_Name', mode: 'column', source: 'name'},
      {field: 'Date_of_Birth', mode: 'column', source: 'born'},
    ],
  }
  const cells = ['3 March 1986', '03-Mar-86', '3. März 1986', '"Mar 3, 1986"', '31/12/1986', '31 June 1986']
  const csv = `name,born\n${cells.map((cell, n) => `Person ${n},${cell}`).join('\n')}\n`
  const {path, source, run} = await runImport(org, {csv, flow})
  const read = (await ok(org.call('GET', `${path}/sources/${source.id}`), 200)).source
  t.deepEqual(
    read.problems.filter(({kind}: any) => kind === 'ambiguous'),
    [],
  )
  t.like(read.columns[1], {kinds: {date: 6}, dates: {dmy: 1, mdy: 0, ymd: 0, ambiguous: 0}})
  t.like(run.counts.Contacts, {created: 5, failed: 1})
  const born = house.crm.records('example', 'Contacts').map(({Last_Name, Date_of_Birth}: any) => [Last_Name, Date_of_Birth])
  t.deepEqual(born.toSorted(), [...[0, 1, 2, 3].map(n => [`Person ${n}`, '1986-03-03']), ['Person 4', '1986-12-31']])
})
