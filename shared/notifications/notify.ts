import {z} from 'zod'
import type {Db, Tx} from '../../sql/database.ts'
import {listMembers} from '../../sql/members.ts'
import {deleteRule, findRule, keepRule, listKnownEndpoints} from '../../sql/notice-rules.ts'
import {EmailAddress, normaliseAddress} from '../accounts/address.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {KINDS, NoticeKind} from './kind.ts'

const mostNamed = 50

export const Notify = z
  .strictObject({
    emails: z.array(EmailAddress).max(mostNamed).default([]).describe('Addresses of members of the org'),
    endpoints: z.array(z.string().max(64)).max(mostNamed).default([]).describe('Ids of webhook endpoints of the org'),
    on: z
      .array(NoticeKind)
      .min(1, 'Name at least one kind, or leave the list out for all kinds')
      .default([...KINDS])
      .describe('The events to send. Left out: all events'),
  })
  .meta({id: 'Notify', description: 'The recipients of notifications, and the events'})
export type Notify = z.output<typeof Notify>

type NotifyOf = {org: string; schedule: string | null}

/** With `schedule: null`, reads the recipients of the whole org. Returns null if there are no recipients. */
export const readNotify = async (db: Db, notifyOf: NotifyOf): Promise<Notify | null> => {
  const rule = await findRule(db, notifyOf)
  return rule && {emails: rule.emails, endpoints: rule.endpoints, on: rule.kinds.filter(isKind)}
}

/**
 * Replaces the recipients of a schedule, or of the org; null deletes them. E-mail goes only to members, so that the service never writes to
 * outsiders. Stored addresses can stay after the operator removed SMTP_URL, so that the rest of the rule can be edited.
 */
export const keepNotify = async (
  tx: Tx,
  config: Pick<Config, 'SMTP_URL'>,
  {org, schedule, notify}: NotifyOf & {notify: Notify | null},
): Promise<void> => {
  if (!notify) return void (await deleteRule(tx, {org, schedule}))
  const stored = ((await findRule(tx, {org, schedule}))?.emails ?? []).map(normaliseAddress)
  if (!config.SMTP_URL && notify.emails.some(email => !stored.includes(normaliseAddress(email))))
    throw new Refusal(
      'NOT_CONFIGURED',
      'This deployment sends no e-mail. Leave out the new addresses, use a webhook, or ask the operator to set SMTP_URL and MAIL_FROM',
    )
  const people = await findPeople(tx, org, notify.emails)
  await assertEndpoints(tx, org, notify.endpoints)
  await keepRule(tx, {org, schedule, kinds: unique(notify.on), endpoints: unique(notify.endpoints), people})
}

const findPeople = async (db: Db, org: string, emails: string[]): Promise<string[]> => {
  if (emails.length === 0) return []
  const members = new Map((await listMembers(db, org)).map(({email, personId}) => [normaliseAddress(email), personId]))
  const unknown = emails.flatMap((email, at) => (members.has(normaliseAddress(email)) ? [] : [at]))
  if (unknown.length > 0) throw refuse('emails', unknown, 'Not the address of a member of this org. Invite the person first')
  return unique(emails.map(email => members.get(normaliseAddress(email))!))
}

const assertEndpoints = async (db: Db, org: string, ids: string[]) => {
  if (ids.length === 0) return
  const known = await listKnownEndpoints(db, {org, ids})
  const unknown = ids.flatMap((id, at) => (known.includes(id) ? [] : [at]))
  if (unknown.length > 0) throw refuse('endpoints', unknown, 'No such webhook endpoint. Create it first')
}

const refuse = (name: string, at: number[], message: string) =>
  new Refusal('INVALID', `The notifications name an invalid recipient (${name})`, {issues: at.map(n => ({path: [name, n], message}))})

const unique = (items: readonly string[]) => [...new Set(items)]
const isKind = (text: string): text is NoticeKind => (KINDS as readonly string[]).includes(text)
