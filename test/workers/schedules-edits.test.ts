import test from 'ava'
import {ok, readLog} from '../support/importing.ts'
import {openLasting} from '../support/retention.ts'
import {fire, makeSchedule, startFileHost} from '../support/schedules.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('a week of nightly schedules keeps every value that people edit, and writes every other', async t => {
  const host = await startFileHost()
  t.teardown(() => host.stop())
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  const house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, LEASE_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  const org = await openLasting(house)
  const {path} = await makeSchedule(org, host)
  const companies = Array.from({length: 12}, (_, n) => `W-${n + 1}`)
  const expected = new Map<string, {Account_Name: string; Billing_City: string}>()
  const edited = new Set<string>()
  const recordOf = (number: string) => house.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)!
  for (let night = 1; night <= 7; night++) {
    // The names of all companies, and the towns of some, change in the file each night.
    const rows = companies.map((number, n) => ({
      number,
      name: `Company ${n} of night ${night}`,
      city: `Town ${Math.floor((night + n) / 3)}`,
    }))
    const reported = [...edited].filter(place => {
      const [number, field] = place.split(' ') as [string, 'Account_Name' | 'Billing_City']
      const row = rows.find(one => one.number === number)!
      return recordOf(number)[field] !== (field === 'Account_Name' ? row.name : row.city)
    })
    host.serve(`name,number,city\n${rows.map(({number, name, city}) => `${name},${number},${city}`).join('\n')}\n`)
    const firing = await fire(org, path)
    t.is(firing.outcome, 'done')
    for (const {number, name, city} of rows) {
      const was = expected.get(number)
      const keep = (field: 'Account_Name' | 'Billing_City', value: string) => (edited.has(`${number} ${field}`) ? was![field] : value)
      expected.set(number, {Account_Name: keep('Account_Name', name), Billing_City: keep('Billing_City', city)})
      t.like(recordOf(number), expected.get(number)!, `night ${night}, ${number}`)
    }
    const run = `/orgs/${org.org}/imports/${firing.importId}/runs/${firing.runId}`
    const kept = (await readLog(org.call, run)).filter(({phase, code}) => phase === 'edit' && code === 'KEPT_EDIT')
    const numberOf = new Map(companies.map(one => [recordOf(one).id, one]))
    const places = kept.map(({recordId, target}) => `${numberOf.get(recordId)} ${target}`)
    t.deepEqual(places.toSorted(), reported.toSorted(), `night ${night}`)
    t.is((await ok(org.call('GET', run), 200)).run.keptEdits, reported.length)
    // During the day, people edit a town and, on some days, a name.
    const number = companies[night]!
    const values = {Billing_City: `Edited on day ${night}`, ...(night % 3 === 0 && {Account_Name: `Renamed on day ${night}`})}
    house.crm.update('example', 'Accounts', [{id: recordOf(number).id, ...values}])
    expected.set(number, {...expected.get(number)!, ...values})
    for (const field of Object.keys(values)) edited.add(`${number} ${field}`)
    await house.ahead(`${night} days`)
    house.crm.clock.advance(86_400_000)
  }
  t.is(edited.size, 9)
})
