import fs from 'node:fs'
import {join} from 'node:path'
import {ApiError, openClient} from './client.ts'
import {connect, discover, signIn} from './journey.ts'
import type {Stack} from './stack.ts'

/** The paths of the files for a first import: an API token, and a CSV file with leads. */
export type Sample = {token: string; file: string}

/**
 * Connects the org of the user to the CRM stand-in and writes the files, unless an earlier start did. In maintenance, writes only the CSV
 * file.
 */
export const prepareSample = async (
  {apiUrl, isInMaintenance}: Stack,
  {directory, email}: {directory: string; email: string},
): Promise<Sample> => {
  const sample = {token: join(directory, 'token'), file: join(directory, 'leads.csv')}
  if (!fs.existsSync(sample.file)) fs.writeFileSync(sample.file, leads())
  if (isInMaintenance || (await isAccepted(apiUrl, sample.token))) return sample
  const session = openClient(apiUrl, await signIn(apiUrl, email))
  const {org} = await session.call<{org: {id: string}}>('GET', '/auth/me')
  const {secret} = await session.call<{secret: string}>('POST', `/orgs/${org.id}/tokens`, {body: {name: 'lading up'}})
  const {connections} = await session.call<{connections: unknown[]}>('GET', `/auth/orgs/${org.id}/connection`)
  if (connections.length === 0) await discover(session, org.id, await connect(session, apiUrl, org.id, email))
  fs.writeFileSync(sample.token, secret, {mode: 0o600})
  return sample
}

const isAccepted = async (apiUrl: string, path: string) => {
  if (!fs.existsSync(path)) return false
  try {
    await openClient(apiUrl, fs.readFileSync(path, 'utf8')).call('GET', '/auth/me')
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return false
    throw error
  }
}

const people = [
  'Ada Okafor',
  'Bruno Lindqvist',
  'Chiara Rossi',
  'Daniel Novák',
  'Elif Yılmaz',
  'Farah Haddad',
  'Grace Mbeki',
  'Hugo Moreau',
]
const companies = ['Alder Freight', 'Birch Foods', 'Cedar Optics', 'Dogwood Energy', 'Elm Textiles']
const cities = ['Lisbon,Portugal', 'Oslo,Norway', 'Kraków,Poland', 'Nairobi,Kenya', 'Hamburg,Germany', 'Osaka,Japan']
const rows = 120

const leads = () => {
  const lines = Array.from({length: rows}, (_, at) => {
    const [first, last] = people[at % people.length]!.split(' ')
    const company = companies[at % companies.length]!
    const email = `lead${at + 1}@${company.toLowerCase().replace(' ', '-')}.example`
    return [first, last, company, email, `+49 40 555 ${String(1000 + at)}`, cities[at % cities.length]].join(',')
  })
  return `First name,Last name,Company,Email,Phone,City,Country\n${lines.join('\n')}\n`
}
