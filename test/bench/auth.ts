import {fork} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import autocannon from 'autocannon'
import {openSession} from '../../shared/accounts/session.ts'
import {readConfig} from '../../shared/config.ts'
import {newId} from '../../shared/ids.ts'
import {openDatabase} from '../../sql/database.ts'
import {keepMember} from '../../sql/members.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {keepPerson} from '../../sql/people.ts'
import {createDatabase} from '../support/database.ts'
import {medianOf} from './median.ts'

const rounds = 5
const seconds = 3
const connections = 32
const body = JSON.stringify({name: 'Bench', rows: 100, fields: ['Account_Name', 'Account_Number', 'Billing_City']})

/**
 * Measures requests per second of an authenticated, validated route ÷ those of the same route in bare Koa (router, body and schema, no
 * bearer), and ÷ those of the same route in our app without a bearer. Interleaved rounds use one server process. The results are the medians
 * of the rounds' ratios.
 */
export const measureAuth = async () => {
  const database = await createDatabase('bench')
  const config = readConfig({...process.env, DATABASE_URL: database.url})
  const {org, token} = await openMember(database.url, config)
  const server = fork(fileURLToPath(new URL('auth-server.ts', import.meta.url)), {
    env: {...process.env, DATABASE_URL: database.url, RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'},
    execArgv: process.execArgv,
  })
  try {
    const [urls] = (await once(server, 'message')) as [{bare: string; ours: string}]
    const measured = {bare: [] as number[], ungated: [] as number[], gated: [] as number[]}
    for (let round = 0; round < rounds; round++) {
      measured.bare.push(await load(`${urls.bare}/orgs/${org}/bench`))
      measured.ungated.push(await load(`${urls.ours}/public/${org}/bench`))
      measured.gated.push(await load(`${urls.ours}/orgs/${org}/bench`, token))
    }
    const ratio = (over: number[]) => medianOf(measured.gated.map((rate, round) => rate / over[round]!))
    return {
      authOverBareKoa: ratio(measured.bare),
      authOverSameAppWithout: ratio(measured.ungated),
      authRequestsPerSecond: medianOf(measured.gated),
    }
  } finally {
    server.disconnect()
    await once(server, 'exit')
    await database.drop()
  }
}

const openMember = async (url: string, config: ReturnType<typeof readConfig>) => {
  const db = await openDatabase(url)
  const person = (await keepPerson(db, {id: newId('per'), subject: 'bench', email: 'bench@example.org', name: 'Bench'})).id
  const org = await db.transaction(tx => keepOrg(tx, {id: newId('org'), name: 'Bench', dc: 'bench', crmOrgId: '1'}))
  await keepMember(db, {id: newId('mem'), org: org.id, person, role: 'operator'})
  const token = await openSession(db, config, {person, org: org.id, role: 'operator'})
  await db.end()
  return {org: org.id, token}
}

const load = async (url: string, token?: string) => {
  const headers = {'content-type': 'application/json', ...(token && {authorization: `Bearer ${token}`})}
  const result = await autocannon({url, method: 'POST', headers, body, connections, duration: seconds})
  if (result.non2xx || result.errors) throw new Error(`${result.non2xx} refusals and ${result.errors} errors from ${url}`)
  return result.requests.average
}
