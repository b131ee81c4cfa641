import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import type {Call} from './client.ts'
import {ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

type OpenEmbedInput = {org: string; call: Call; template?: string; origin?: string; rowsLimit?: number; minutes?: number}

/**
 * Allows a page of `origin` to embed imports of the org, and creates an embed token. Without `template`, stores an empty template. `embed`:
 * the secret of the token.
 */
export const openEmbed = async (
  house: TestDeployment,
  {org, call, template, origin = 'https://app.example.com', rowsLimit = 100, minutes = 60}: OpenEmbedInput,
) => {
  await ok(call('PATCH', `/orgs/${org}/config/settings`, {embedOrigins: [origin]}), 200)
  const named = template ?? (await storeTemplate(house, org))
  const {token, secret} = await ok(call('POST', `/orgs/${org}/embed-tokens`, {template: named, origin, rowsLimit, minutes}), 201)
  return {embed: secret as string, token, template: named}
}

/** Stores a template without the checks of its route, because the org has no discovery. */
export const storeTemplate = async (
  house: Pick<TestDeployment, 'db'>,
  org: string,
  {sources = [], flows = []}: StoredTemplate = {},
): Promise<string> => {
  const id = newId('tpl')
  await house.db.query(sql.unsafe`
    insert into templates (id, org_id, name, sources, flows)
    values (${id}, ${org}, 'Embedded', ${sql.jsonb(sources as never)}, ${sql.jsonb(flows as never)})`)
  return id
}
type StoredTemplate = {sources?: object[]; flows?: object[]}

type Home = {org: string; person: string; token: string}

/** Returns embed tokens in every state for `test/access.test.ts`. `withToken` creates an org with an API token. */
export const embedBearers = (house: () => TestDeployment, withToken: () => Promise<Home>) => {
  const withEmbed = async () => {
    const home = await withToken()
    const {embed} = await openEmbed(house(), {...home, call: house().as(home.token)})
    return {...home, token: embed, role: 'operator' as const, embed: true as const}
  }
  const after = async (text: (home: Home) => Parameters<TestDeployment['db']['query']>[0], more: object) => {
    const home = await withEmbed()
    await house().db.query(text(home))
    return {...home, ...more}
  }
  const refused = (code: string) => ({refused: [401, code] as [number, string]})
  return {
    'an embed token without imports': withEmbed,
    'an embed token of another org': async () => ({
      ...(await withEmbed()),
      org: (await house().makeOrg()).org,
      state: 'other org' as const,
    }),
    'an embed token of a closed org': () =>
      after(({org}) => sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`, {state: 'closed'}),
    'an embed token of a banned person': () =>
      after(({person}) => sql.unsafe`update people set banned_at = lading_now() where id = ${person}`, {state: 'banned'}),
    'an embed token whose API token was revoked': () =>
      after(({org}) => sql.unsafe`update api_tokens set revoked_at = lading_now() where org_id = ${org}`, refused('TOKEN_REVOKED')),
    'an embed token whose API token has expired': () =>
      after(({org}) => sql.unsafe`update api_tokens set expires_at = lading_now() where org_id = ${org}`, refused('TOKEN_REVOKED')),
    'an embed token whose origin was removed': () =>
      after(({org}) => sql.unsafe`update org_settings set embed_origins = '{}' where org_id = ${org}`, refused('TOKEN_REVOKED')),
    'an expired embed token': () =>
      after(({org}) => sql.unsafe`update embed_tokens set expires_at = lading_now() where org_id = ${org}`, refused('TOKEN_EXPIRED')),
    'an embed token whose member is gone': () =>
      after(({org}) => sql.unsafe`delete from members where org_id = ${org}`, refused('MEMBERSHIP_GONE')),
    'an embed token whose template is gone': () =>
      after(({org}) => sql.unsafe`delete from templates where org_id = ${org}`, refused('AUTH_REQUIRED')),
  }
}
