import {randomBytes} from 'node:crypto'
import {mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {settingNames} from '../../shared/config.ts'
import {checkSettings} from '../../shared/settings-check.ts'
import {openHome} from '../support/cli-process.ts'
import {createDatabase} from '../support/database.ts'

const key = () => `k1:${randomBytes(32).toString('base64')}`

const productionSettings = (folder: string, DATABASE_URL: string) => ({
  NODE_ENV: 'production',
  DATABASE_URL,
  PUBLIC_URL: 'https://lading.example.com',
  STORAGE_DIR: folder,
  SECRETS_KEYS: key(),
  SESSION_KEYS: key(),
  CRM_CLIENT_ID: '1000.ABC',
  CRM_CLIENT_SECRET: randomBytes(20).toString('hex'),
})

const makeFolder = () => mkdtempSync(join(tmpdir(), 'lading-settings-'))

const problemsOf = async (environment: Record<string, string | undefined>) =>
  Object.fromEntries((await checkSettings(environment)).flatMap(({name, state, text}) => (state === 'problem' ? [[name, text]] : [])))

test('settings of a working deployment have no problem, every setting is listed, and no secret is shown', async t => {
  const folder = makeFolder()
  t.teardown(() => rmSync(folder, {recursive: true, force: true}))
  const {url, drop} = await createDatabase('settings')
  t.teardown(drop)
  const S3_ENDPOINT = 'https://operator:s3-password@files.example.com'
  const environment = {...productionSettings(folder, url), DATABASE_DIRECT_URL: url, S3_ENDPOINT}
  const findings = await checkSettings(environment)
  t.deepEqual(
    findings.map(({name}) => name),
    settingNames,
  )
  t.deepEqual(
    findings.filter(({state}) => state === 'problem'),
    [],
  )
  t.regex(findings.find(({name}) => name === 'DATABASE_URL')!.text, /^is set, PostgreSQL \d+ answers, and the schema is current$/)
  const shown = JSON.stringify(findings)
  for (const name of ['SECRETS_KEYS', 'SESSION_KEYS', 'CRM_CLIENT_SECRET', 'DATABASE_URL', 'DATABASE_DIRECT_URL'] as const)
    t.false(shown.includes(environment[name]))
  t.is(findings.find(({name}) => name === 'S3_ENDPOINT')!.text, 'https://…@files.example.com')
  t.is(findings.find(({name}) => name === 'DATABASE_DIRECT_URL')!.text, 'is set, the database answers')
  t.deepEqual(
    readdirSync(folder, {recursive: true, withFileTypes: true}).filter(entry => entry.isFile()),
    [],
    'the probe object is removed',
  )
})

test('every problem is found at once, at its setting, with what to do', async t => {
  const blocked = join(makeFolder(), 'a-file')
  writeFileSync(blocked, '')
  const problems = await problemsOf({
    ...productionSettings(blocked, 'postgres://other:wrong@127.0.0.1:1/none'),
    NODE_ENV: 'development',
    PUBLIC_URL: 'http://lading.example.com',
    SESSION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    PORT: 'http',
    SMTP_URL: 'smtp://mail.example.com:587',
    MODEL_KIND: 'openai',
    CRM_STANDIN_URL: 'http://127.0.0.1:4010',
  })
  t.deepEqual(Object.keys(problems).toSorted(), [
    'CRM_STANDIN_URL',
    'DATABASE_URL',
    'MAIL_FROM',
    'MODEL_API_KEY',
    'MODEL_KIND',
    'MODEL_NAME',
    'MODEL_URL',
    'NODE_ENV',
    'PORT',
    'PUBLIC_URL',
    'SESSION_KEYS',
    'SMTP_URL',
    'STORAGE_DIR',
  ])
  t.regex(problems.DATABASE_URL!, /^The database does not answer \(.+\)\. Check the address/)
  t.regex(problems.STORAGE_DIR!, /^No file can be written \(.+\)\. Check the name and the rights$/)
  t.regex(problems.SESSION_KEYS!, /SESSION_KEYS is a development default or easy to guess/)
})

test('a bucket without its keys and a database without the schema are problems', async t => {
  const {url, drop} = await createDatabase('settings')
  t.teardown(drop)
  const empty = new URL(url)
  empty.pathname = '/postgres'
  const problems = await problemsOf({...productionSettings(tmpdir(), empty.href), S3_BUCKET: 'files'})
  t.deepEqual(problems, {
    DATABASE_URL: problems.DATABASE_URL,
    S3_BUCKET: 'S3_BUCKET is set, so S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are needed too.',
  })
  t.regex(problems.DATABASE_URL!, /^PostgreSQL \d+ answers, but the schema is missing\. Run npm run migrate$/)
})

test('behind a pooler, a role without timeouts is a problem', async t => {
  const {url, drop} = await createDatabase('settings')
  t.teardown(drop)
  const pooled = new URL(url)
  pooled.searchParams.set('pooler', 'transaction')
  const settings = productionSettings(tmpdir(), pooled.href)
  t.regex((await problemsOf(settings)).DATABASE_URL!, /^Behind a pooler, the role needs timeouts: alter role/)
  pooled.searchParams.set('options', '-c statement_timeout=30s -c idle_in_transaction_session_timeout=10s')
  t.is((await problemsOf({...settings, DATABASE_URL: pooled.href})).DATABASE_URL, undefined)
})

test('behind a pooler, a missing or wrong DATABASE_DIRECT_URL is a problem', async t => {
  const {url, drop} = await createDatabase('settings')
  t.teardown(drop)
  const pooled = new URL(url)
  pooled.searchParams.set('pooler', 'transaction')
  const directProblem = async (DATABASE_DIRECT_URL?: string) =>
    (await problemsOf({...productionSettings(tmpdir(), pooled.href), DATABASE_DIRECT_URL})).DATABASE_DIRECT_URL
  t.regex((await directProblem())!, /^A release needs a connection without a pooler\. Set DATABASE_DIRECT_URL/)
  t.regex((await directProblem(pooled.href))!, /^A release needs a connection without a pooler/)
  t.regex((await directProblem('postgres://other:wrong@127.0.0.1:1/none'))!, /^The database does not answer/)
  t.is(await directProblem(url), undefined)
})

test('lading up --check prints each setting and exits with 1 while there is a problem', async t => {
  const home = openHome({STORAGE_DIR: makeFolder()})
  const checked = await home.run(['up', '--check'])
  t.is(checked.code, 1, checked.err)
  t.regex(checked.out, /^problem {2}DATABASE_URL +Set DATABASE_URL to a PostgreSQL/m)
  t.regex(checked.out, /^default {2}LOG_LEVEL$/m)
  t.regex(checked.out, /settings need a change\. docs\/configuration\.md explains each setting\.\n$/)
  const {settings} = JSON.parse((await home.run(['up', '--check', '--json'])).out)
  t.is(settings.length, settingNames.length)
})
