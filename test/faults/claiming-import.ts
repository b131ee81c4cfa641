import {column, companies} from '../support/lookups.ts'
import type {Here} from '../support/record-claims.ts'
import {carryCase, prepareCase} from './carried.ts'
import type {Case} from './cases.ts'
import type {Stage} from './scenario.ts'

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const count = 100
const theirs = 7
const ours = 13

/**
 * Runs an import without matching, so that the CRM refuses duplicates. The file holds the same hundred rows twice. The CRM executes the first
 * create of the first half, but its answer is lost. Two creates of the second half do not reach the CRM. One number exists in a record of
 * another user, and one in an older record of our own user.
 */
export const playClaimingImport = async (stage: Stage, {world, org}: Here) => {
  const ground = {here: world, org, pass: async () => {}}
  const {crm} = world
  const laid = layTwice()
  crm.clock.set(Date.now() - 60_000)
  const prepared = await prepareCase(ground, laid)
  const before = crm.create('example', 'Accounts', [{Account_Name: 'Ours', Account_Number: laid.parts[0]!.tags[ours]}], {
    as: 'ana@example.org',
  })
  for (const {details} of before) prepared.known.add(String(details.id))
  crm.clock.set(Date.now())
  crm.faults.add({match: creates, times: 1, action: 'dropAfter'})
  // The second half waits for the outcomes of the first half, so the second half begins with the third create.
  crm.faults.add({match: {...creates, nth: 2}, times: 2, action: 'dropBefore'})
  const carried = await carryCase(ground, prepared)
  stage.did('imports')
  const verdict = await carried.judge()
  stage.judged(verdict)
  const {created, refused} = carried.run.counts.Accounts
  stage.expect(created === count - 2, `${created} of ${count - 2} rows have the record their lost create made`)
  stage.expect(refused === count + 2, `${refused} rows are refused, and ${count + 2} have no record to take`)
}

const layTwice = (): Case => {
  const numbers = Array.from({length: count}, (_, n) => `s3-${n}`)
  const tags = [...numbers, ...numbers]
  return {
    name: 'a file twice over, unmatched',
    files: {companies: `name,number\n${tags.map((tag, n) => `Company ${n},${tag}`).join('\n')}\n`},
    flows: [companies({match: undefined, fields: [column('Account_Name', 'name'), column('Account_Number', 'number')]})],
    parts: [{flow: 'companies', source: 'companies', module: 'Accounts', field: 'Account_Number', unique: true, column: 'number', tags}],
    before: [{module: 'Accounts', records: [{Account_Name: 'Theirs', Account_Number: tags[theirs]}]}],
    start: {},
  }
}
