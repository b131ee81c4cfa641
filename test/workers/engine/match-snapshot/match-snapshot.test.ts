import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {matchKeyOf} from '../../../../shared/mapping/flows/match-key.ts'
import {openStorage} from '../../../../shared/storage/storage.ts'
import {openLog} from '../../../../shared/telemetry/log.ts'
import {sql} from '../../../../sql/database.ts'
import type {Context} from '../../../../workers/engine/context.ts'
import {openSnapshotMatches} from '../../../../workers/engine/match-snapshot/match-snapshot.ts'
import {type CrmPlace, place} from '../../../shared/crm/crm-fixture.ts'
import {beginRun} from '../../../support/running.ts'
import {compiledFlow, field, leaseOf, row} from '../fixtures.ts'

let here: CrmPlace
let connector: string
let directory: string
test.before(async t => {
  here = await place(t)
  here.standIn.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  here.standIn.create('example', 'Accounts', [{Account_Name: 'Company', Account_Number: 'S-1'}])
  connector = await here.connect()
  directory = await mkdtemp(join(tmpdir(), 'match-snapshot-'))
})
test.after.always(() => rm(directory, {recursive: true, force: true}))
test.beforeEach(() => here.standIn.clearJournal())

const number = field('Account_Number')
const flow = compiledFlow([number], {module: {no: 1, apiName: 'Accounts', label: 'Accounts', fields: [number]}, matchFields: [number]})
const slots = {take: async () => {}, give: () => {}}

/** Opens the matches of a new run. To each of the first `tooMany` queries, the CRM answers that too many records changed. */
const openMatches = async (tooMany: number) => {
  const {db, config} = here
  const {id, run} = await beginRun(here)
  const connection = await here.crm.open(connector)
  const {readChanges} = connection
  let asked = 0
  connection.readChanges = async (...query) => (asked++ < tooMany ? null : readChanges!(...query))
  const {signal} = new AbortController()
  const ctx = {
    db,
    config,
    connection,
    run: {id, no: run, org: 'org_test', matchBy: 'snapshot', routes: []},
    snapshot: {flows: [{moduleNo: 1}]},
    storage: openStorage({directory}),
    log: openLog('test', 'silent'),
    signal,
    lease: leaseOf(signal),
    slots: {small: slots, large: slots},
  }
  const matches = await openSnapshotMatches(ctx as unknown as Context, flow)
  const [route] = await db.any(sql.unsafe`select match, why from run_routes where run_no = ${run}`)
  return {matches, route, exports: here.standIn.journal({method: 'POST', path: '/crm/bulk/v8/read'}).length}
}

test.serial('an export since which too many records changed is replaced by a new one', async t => {
  const {matches, route, exports} = await openMatches(1)
  t.like(route, {match: 'snapshot'})
  t.is(exports, 2)
  const one = row(1, {matchKey: matchKeyOf(['S-1'], [number])})
  t.deepEqual([...(await matches!.match([one]))], [one])
  t.is(one.matches.length, 1)
  await matches!.close()
})

test.serial('a module that changes too much between two exports is queried', async t => {
  const {matches, route, exports} = await openMatches(2)
  t.is(matches, null)
  t.deepEqual(route, {match: 'query', why: 'Too many records of the module changed'})
  t.is(exports, 2)
})
