import test from 'ava'
import {z} from 'zod'
import {openAccess, openRefresh} from '../../shared/crm/sealed.ts'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, openOrg, runImport} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery']})
})

/** Returns the number of tables, and every row of every table as text: Lading's tables and those of the queue. Bytes are in hexadecimal. */
const dump = async () => {
  const tables = await here.db.any(sql.type(z.object({schema: z.string(), name: z.string()}))`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)
  const texts: string[] = []
  for (const {schema, name} of tables) {
    const rows = await here.db.anyFirst(sql.type(z.object({row: z.string()}))`
      select to_jsonb(t)::text as row from ${sql.identifier([schema, name])} t`)
    texts.push(`${schema}.${name}\n${rows.join('\n')}`)
  }
  return {tables: tables.length, text: texts.join('\n\n')}
}

/** Returns the tokens of all grants, opened with the key that is not in the database. */
const openGrants = async () => {
  const ring = here.config.SECRETS_KEYS
  const grants = await here.db.many(sql.type(z.object({connector: z.string(), refresh: z.string(), access: z.string()}))`
    select connector_id as connector, refresh_sealed as refresh, access_sealed as access from grants`)
  return grants.flatMap(({connector, refresh, access}) => [openRefresh(ring, connector, refresh), openAccess(ring, connector, access)])
}

const everyForm = (secret: string) => [
  secret,
  Buffer.from(secret).toString('base64'),
  Buffer.from(secret).toString('base64url'),
  Buffer.from(secret).toString('hex'),
]

test('tokens, grants and codes are in the database in no readable form', async t => {
  const org = await openOrg(here)
  const session = await here.signIn()
  const minted = await here.as(session)('POST', `/orgs/${org.org}/tokens`, {name: 'at rest'})
  t.is((await here.as(minted.body.secret)('GET', '/auth/me')).status, 200)
  await runImport(org, {csv: accountRows(20, 'REST-'), flow: accounts})

  const {tables, text} = await dump()
  t.true(tables > 20 && text.includes('grant_mints') && text.includes('pgboss.'))
  for (const secret of [session, minted.body.secret, ...(await openGrants())]) {
    for (const form of everyForm(secret)) t.false(text.includes(form), `${secret.slice(0, 12)}… is nowhere`)
  }
})

test('cell values of a file are only in its source table, and queue, log and ledger hold keys and hashes', async t => {
  const org = await openOrg(here)
  await runImport(org, {csv: accountRows(20, 'CANARY-'), flow: accounts})
  const {text} = await dump()
  const holding = text.split('\n\n').filter(table => table.includes('CANARY-'))
  t.deepEqual(
    holding.map(table => table.trimStart().split('\n')[0]),
    ['public.sources'],
  )
})
