import type {ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import {type Billing, sessionOf} from './billing.ts'
import type {HttpAnswer} from './client.ts'
import {ok} from './importing.ts'

export type Buyer = Awaited<ReturnType<typeof newBuyer>>

const team = {kind: 'plan', planKey: 'team'} as const
const pack = {kind: 'credit_pack', packKey: 'credits_500'} as const

/**
 * Creates an org whose owner buys. `colleague` creates another admin. `script` uses an API token, which stays valid when the clock moves
 * and the session expires.
 */
export const newBuyer = async ({house, payment}: Billing) => {
  const home = await house.makeOrg()
  const {org, person, token} = home
  const as = house.as(token)
  const {secret} = await ok(as('POST', `/orgs/${org}/tokens`, {name: 'script'}), 201)
  const script = house.as(secret)
  const buy = (body: object, by = as) => by('POST', `/orgs/${org}/billing/checkout`, body)
  const open = async (body: object, by = as) => sessionOf((await ok(buy(body, by), 200)).url)
  const [email] = await emailsOf({house}, person)
  return {
    org,
    person,
    token,
    email: email!,
    as,
    script,
    buy,
    open,
    openPlan: (more: object = {}, by = as) => open({...team, ...more}, by),
    openPack: (more: object = {}, by = as) => open({...pack, ...more}, by),
    colleague: async () => {
      const other = await house.makeOrg({org, role: 'admin'})
      return {...other, as: house.as(other.token), email: (await emailsOf({house}, other.person))[0]!}
    },
    me: () => ok(script('GET', '/entitlements/me'), 200),
    changes: async (page: string) => (await ok(script('GET', `/orgs/${org}/config/changes?page=${page}`), 200)).changes,
    pages: () => payment.all('checkout.session').filter(({client_reference_id: of}) => of === org),
    row: (session: string) =>
      house.db.one(sql.unsafe`select state, credits, settled_at is not null as settled from checkouts where session_id = ${session}`),
  }
}

const emailsOf = async ({house}: Pick<Billing, 'house'>, person: string) =>
  (await house.db.anyFirst(sql.unsafe`select email from people where id = ${person}`)) as string[]

export const refusedWith = (t: ExecutionContext<any>, {status, body, text}: HttpAnswer, wanted: [number, string], about = '') => {
  t.deepEqual([status, body.code], wanted, `${about} ${text}`)
  t.true(body.error.length > 20, text)
}

export const typeCard = (url: string, card: string) => fetch(url, {method: 'POST', body: new URLSearchParams({card}), redirect: 'manual'})
