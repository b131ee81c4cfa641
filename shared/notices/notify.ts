import {z} from 'zod'
import type {Db, Tx} from '../../sql/database.ts'
import {listMembers} from '../../sql/members.ts'
import {deleteRule, findRule, keepRule, listKnownEndpoints} from '../../sql/notice-rules.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {EmailAddress, normaliseAddress} from '../people/address.ts'
import {KINDS, Kind} from './kind.ts'

const mostNamed = 50

/** Who is told, and of what: members of the org by e-mail, endpoints of the org by webhook. `on`: every kind where none is named. */
export const Notify = z
  .strictObject({
    emails: z.array(EmailAddress).max(mostNamed).default([]).describe('Addresses of members of the org'),
    endpoints: z.array(z.string().max(64)).max(mostNamed).default([]).describe('Ids of webhook endpoints of the org'),
    on: z
      .array(Kind)
      .min(1, 'Name a kind at least, or leave it out to be told of all')
      .default([...KINDS])
      .describe('What they are told of; left out, of everything'),
  })
  .meta({id: 'Notify', description: 'Who is told, and of what'})
export type Notify = z.output<typeof Notify>

type Of = {org: string; schedule: string | null}

/** Of a schedule, or of the whole org (`schedule: null`). Null where nobody is told. */
export const readNotify = async (db: Db, of: Of): Promise<Notify | null> => {
  const rule = await findRule(db, of)
  return rule && {emails: rule.emails, endpoints: rule.endpoints, on: rule.kinds.filter(isKind)}
}

/**
 * Keeps who is told of a schedule, or of the org, in place of whoever was; null forgets it, as whoever deletes the schedule does. Only
 * members' addresses are taken, so that nobody else can be written to, and only where e-mail is configured.
 */
export const keepNotify = async (
  tx: Tx,
  config: Pick<Config, 'SMTP_URL'>,
  {org, schedule, notify}: Of & {notify: Notify | null},
): Promise<void> => {
  if (!notify) return void (await deleteRule(tx, {org, schedule}))
  if (notify.emails.length > 0 && !config.SMTP_URL)
    throw new Refusal(
      'NOT_CONFIGURED',
      'This installation sends no e-mail: its operator sets SMTP_URL and MAIL_FROM. Name no addresses, or use a webhook',
    )
  const people = await findPeople(tx, org, notify.emails)
  await assertEndpoints(tx, org, notify.endpoints)
  await keepRule(tx, {org, schedule, kinds: unique(notify.on), endpoints: unique(notify.endpoints), people})
}

const findPeople = async (db: Db, org: string, emails: string[]): Promise<string[]> => {
  if (emails.length === 0) return []
  const members = new Map((await listMembers(db, org)).map(({email, personId}) => [normaliseAddress(email), personId]))
  const unknown = emails.flatMap((email, at) => (members.has(normaliseAddress(email)) ? [] : [at]))
  if (unknown.length > 0) throw refuse('emails', unknown, 'Not the address of a member of this org: invite them first')
  return unique(emails.map(email => members.get(normaliseAddress(email))!))
}

const assertEndpoints = async (db: Db, org: string, ids: string[]) => {
  if (ids.length === 0) return
  const known = await listKnownEndpoints(db, {org, ids})
  const unknown = ids.flatMap((id, at) => (known.includes(id) ? [] : [at]))
  if (unknown.length > 0) throw refuse('endpoints', unknown, 'No such webhook endpoint: make it first')
}

const refuse = (name: string, at: number[], message: string) =>
  new Refusal('INVALID', `The notices name somebody who cannot be told (${name})`, {issues: at.map(n => ({path: [name, n], message}))})

const unique = (items: readonly string[]) => [...new Set(items)]
const isKind = (text: string): text is Kind => (KINDS as readonly string[]).includes(text)
