import {z} from 'zod'
import {isPooled} from '../sql/pooler.ts'
import {originOf} from './accounts/origins.ts'
import {readPattern, readPrivateHost} from './schedules/outbound/hosts.ts'
import {DEVELOPMENT_CRM_SECRET, DEVELOPMENT_KEY} from './security/key-safety.ts'
import {rules} from './setting-rules.ts'

const flag = z.enum(['', '0', '1', 'true', 'false']).transform(text => text === '1' || text === 'true')
const list = z.string().transform(text =>
  text
    .split(',')
    .map(item => item.trim())
    .filter(Boolean),
)

/**
 * Parses a key ring: comma-separated `id:base64` pairs, each with a key of 32 bytes. The first key encrypts and signs; every key decrypts and
 * verifies.
 */
const keyRing = list.transform((pairs, ctx) => {
  if (!pairs.length)
    ctx.addIssue({code: 'custom', message: 'No key is given. Each is <id>:<32 bytes in base64>, e.g. k1:$(openssl rand -base64 32)'})
  const ids = new Set<string>()
  return pairs.map(pair => {
    const [id = '', base64 = ''] = pair.split(':')
    const key = Buffer.from(base64, 'base64')
    if (!id || key.length !== 32)
      ctx.addIssue({code: 'custom', message: 'Each key is <id>:<32 bytes in base64>, e.g. k1:$(openssl rand -base64 32)'})
    if (ids.has(id)) ctx.addIssue({code: 'custom', message: `Two keys have the id ${id}. Give the newer key another id, e.g. k2`})
    ids.add(id)
    return {id, key}
  })
})

/** Parses the key ring for sealed values. Rejects a key id with a dot, because dots separate the parts of a sealed value. */
const sealKeyRing = keyRing.superRefine((ring, ctx) => {
  for (const {id} of ring)
    if (id.includes('.')) ctx.addIssue({code: 'custom', message: `The key id ${id} has a dot. Write ${id.replaceAll('.', '-')}`})
})

/** Parses the origins that generic connections may call: https, or http to a loopback address. */
const origins = list.transform((items, ctx) =>
  items.map(item => {
    const url = URL.canParse(item) ? new URL(item) : null
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    if (!isSafe || url.origin !== item.replace(/\/$/, ''))
      ctx.addIssue({code: 'custom', message: 'Each is an origin with https, e.g. https://api.example.com, or a loopback address with http'})
    return url?.origin ?? item
  }),
)

const jsonOf = <S extends z.ZodType>(shape: S, example: string) =>
  z.string().transform((text, ctx): z.output<S> => {
    const read = shape.safeParse(parseJson(text))
    if (read.success) return read.data
    const [issue] = read.error.issues
    ctx.addIssue({code: 'custom', message: `JSON such as ${example} is needed (${[...issue!.path, issue!.message].join(' ')})`})
    return z.NEVER
  })

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const dataCentre = z.string().regex(/^[a-z][a-z0-9-]{0,19}$/)
const httpsOrigin = z
  .url({protocol: /^https$/})
  .refine(text => new URL(text).origin === text.replace(/\/$/, ''), 'only https:// and a host')
  .transform(text => new URL(text).origin)
const crmClients = z.record(dataCentre, z.strictObject({id: z.string().min(1), secret: z.string().min(1)}))
const bulkHosts = {content: httpsOrigin.optional(), results: z.array(httpsOrigin).optional()}
const crmHosts = z.array(z.strictObject({dc: dataCentre, accounts: httpsOrigin, apiDomain: httpsOrigin, ...bulkHosts}))

/** Parses each item of a list to its normal form. An item that `read` rejects becomes an issue with `message`. */
const listOf = (read: (text: string) => string | null, message: string) =>
  list.transform((items, ctx) =>
    items.map(item => {
      const known = read(item)
      if (known === null) ctx.addIssue({code: 'custom', message: `${item}: ${message}`})
      return known ?? item
    }),
  )

const readReturnOrigin = (text: string) => (text.includes('*') ? null : originOf(text))

/** The form of ADMIN_TOKEN and METRICS_TOKEN: a valid bearer (RFC 6750), long enough that it cannot be guessed. */
const adminToken = z
  .string()
  .min(32, 'At least 32 characters, e.g. $(openssl rand -hex 32)')
  .max(1024)
  .regex(/^[\w.~+/-]+=*$/, 'Letters, digits and - . _ ~ + / only, = at its end')

const Environment = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  DATABASE_URL: z.string().optional(),
  DATABASE_DIRECT_URL: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(4000),
  PUBLIC_URL: z.url().optional(),
  STORAGE_DIR: z.string().default('.data/storage'),
  S3_BUCKET: z.string().optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_ENDPOINT: z.url().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  SECRETS_KEYS: sealKeyRing.prefault(DEVELOPMENT_KEY),
  SESSION_KEYS: keyRing.prefault(DEVELOPMENT_KEY),
  ADMIN_TOKEN: adminToken.optional(),
  METRICS_TOKEN: adminToken.optional(),
  METRICS_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  RETURN_ORIGINS: listOf(readReturnOrigin, 'each is an origin, e.g. https://app.example.com').prefault(''),
  CRM_CLIENT_ID: z.string().default('1000.LADING'),
  CRM_CLIENT_SECRET: z.string().default(DEVELOPMENT_CRM_SECRET),
  CRM_CLIENTS: jsonOf(crmClients, '{"eu": {"id": "1000.ABC", "secret": "…"}}').prefault('{}'),
  CRM_HOSTS: jsonOf(crmHosts, '[{"dc": "sg", "accounts": "https://accounts.zoho.sg", "apiDomain": "https://www.zohoapis.sg"}]').prefault(
    '[]',
  ),
  CRM_STANDIN_URL: z.url().optional(),
  GENERIC_ORIGINS: origins.prefault(''),
  PRIVATE_HOSTS: listOf(readPrivateHost, 'each is <host>:<port> or <host>:<port>=<org id>, e.g. nas.example.internal:22').prefault(''),
  SOURCE_HOSTS: listOf(readPattern, 'each is a host, *.<domain> for its subdomains, or * for every public host').prefault('*'),
  CRM_SLOTS: z.coerce.number().int().min(1).max(25).default(10),
  CRM_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(300).default(75),
  CRM_LAG_SECONDS: z.coerce.number().min(0).max(600).default(60),
  VERIFY_AFTER_SECONDS: z.coerce.number().min(1).max(3_600).default(5),
  IMPORTS_PER_WORKER: z.coerce.number().int().min(1).max(100).default(4),
  LEASE_SECONDS: z.coerce.number().min(1).max(120).default(15),
  FILE_LIMIT_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .default(1024 ** 3),
  WORKBOOK_LIMIT_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .default(1024 ** 3),
  WORKBOOK_STRINGS_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(64 * 1024 ** 2),
  PARSER_THREADS: z.coerce.number().int().min(1).max(64).default(2),
  PARSER_MEMORY_MB: z.coerce.number().int().min(16).max(65_536).default(512),
  PARSER_SECONDS: z.coerce.number().min(1).max(3_600).default(300),
  DISCOVERY_REFRESH_HOURS: z.coerce.number().min(0).max(8_784).default(24),
  RETENTION_HOUR_UTC: z.coerce.number().int().min(0).max(23).default(3),
  AUDIT_DAYS: z.coerce.number().int().min(1).max(36_500).default(730),
  DRAIN_SECONDS: z.coerce.number().min(0).max(600).default(30),
  FAULT_POINT: z.string().optional(),
  RATE_PER_ADDRESS: z.coerce.number().int().min(0).default(60_000),
  RATE_PER_BEARER: z.coerce.number().int().min(0).default(12_000),
  TRUSTED_PROXIES: z.coerce.number().int().min(0).max(10).default(0),
  HSTS_SECONDS: z.coerce.number().int().min(0).default(31_536_000),
  MAINTENANCE: flag.prefault(''),
  DEFAULT_PLAN: z.enum(['free', 'team', 'business', 'enterprise']).default('enterprise'),
  SMTP_URL: z.url({protocol: /^smtps?$/, error: 'Use smtp://user:password@host:587 or smtps://host:465'}).optional(),
  MAIL_FROM: z.string().max(254).optional(),
  PAYMENT_API_KEY: z.string().optional(),
  PAYMENT_API_URL: z.url({protocol: /^https?$/}).optional(),
  PAYMENT_WEBHOOK_SECRETS: list.prefault(''),
  PAYMENT_PORTAL_CONFIGURATION: z.string().optional(),
  PAYMENT_ENVIRONMENT: z.string().max(100).optional(),
  DEFAULT_PLAN_CONFIRMED: flag.prefault(''),
  PAYMENT_PROMOTION_CODES: flag.prefault(''),
  PAYMENT_AUTOMATIC_TAX: flag.prefault(''),
  MODEL_KIND: z.enum(['openai', 'anthropic']).optional(),
  MODEL_URL: z.url({protocol: /^https?$/}).optional(),
  MODEL_API_KEY: z.string().optional(),
  MODEL_NAME: z.string().max(200).optional(),
  MODEL_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(300).default(60),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({protocol: /^https?$/}).optional(),
  OTEL_SERVICE_NAME: z.string().min(1).max(100).default('lading'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
})

export const settingNames = Object.keys(Environment.shape)

export type Config = ReturnType<typeof readConfig>
export type ParsedEnvironment = z.output<typeof Environment>

/**
 * Parses the environment. Call this once per process. Throws one error that names every variable that does not parse, or else the first broken rule
 * of `setting-rules.ts`.
 */
export const readConfig = (environment: Record<string, string | undefined> = process.env) => {
  const parsed = Environment.safeParse(givenOf(environment))
  if (!parsed.success)
    throw new Error(`Configuration: ${parsed.error.issues.map(({path, message}) => `${path.join('.')}: ${message}`).join('; ')}`)
  const config = parsed.data
  for (const {assert} of rules) assert(config)
  const PAYMENT_ENVIRONMENT = config.PAYMENT_ENVIRONMENT ?? config.NODE_ENV
  return {...config, PAYMENT_ENVIRONMENT, PUBLIC_URL: config.PUBLIC_URL ?? `http://${config.HOST}:${config.PORT}`}
}

const givenOf = (environment: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))

export const readEnvironment = (): Record<string, string | undefined> => ({...process.env})

export type SettingProblem = {names: string[]; message: string}

/**
 * Finds every problem of an environment, whereas `readConfig` throws only the first broken rule. For the rules, a variable that does not parse is not
 * set. Also returns the parsed settings and the names of the variables that are set.
 */
export const inspectSettings = (environment: Record<string, string | undefined>) => {
  const given = givenOf(environment)
  const issues = Environment.safeParse(given).error?.issues ?? []
  const bad = issues.map(({path, message}): SettingProblem => ({names: [String(path[0])], message}))
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !bad.some(({names}) => names.includes(name))))
  const config = Environment.parse(rest)
  const broken = rules.flatMap(({names, assert}): SettingProblem[] => {
    try {
      assert(config)
      return []
    } catch (error) {
      const message = (error as Error).message.replace('Configuration: ', '')
      return [{names: names.filter(name => message.includes(name)), message}]
    }
  })
  return {problems: [...bad, ...broken], config, given: settingNames.filter(name => name in given)}
}

/** Placeholder of the webhook secret until the webhook endpoint exists. */
export const noWebhookSecret = 'not-created-yet'

/**
 * Parses the environment of `lading billing setup`, which creates the webhook endpoint whose secret the other processes need. The command gives
 * no org a plan, so DEFAULT_PLAN needs no confirmation here.
 */
export const readSetupConfig = (environment: Record<string, string | undefined> = process.env) =>
  readConfig({
    ...environment,
    PAYMENT_WEBHOOK_SECRETS: environment.PAYMENT_WEBHOOK_SECRETS || noWebhookSecret,
    DEFAULT_PLAN_CONFIRMED: '1',
  })

/** Returns DATABASE_URL, for processes that need Postgres. Throws if the variable is not set. */
export const databaseUrlOf = ({DATABASE_URL}: {DATABASE_URL?: string | undefined}) => {
  if (DATABASE_URL) return DATABASE_URL
  throw new Error(
    'DATABASE_URL is not set. On a laptop run `npm start`, which starts its own Postgres. Elsewhere set it to a Postgres of version 15 or later.',
  )
}

/** Returns the URL for a release, whose session locks need a connection without a pooler. */
export const directUrlOf = (config: {DATABASE_URL?: string | undefined; DATABASE_DIRECT_URL?: string | undefined}) => {
  const url = config.DATABASE_DIRECT_URL ?? databaseUrlOf(config)
  if (!isPooled(url)) return url
  throw new Error('A release needs a connection without a pooler. Set DATABASE_DIRECT_URL to the address of Postgres itself')
}

/**
 * Returns where files and the packed logs of ended runs are stored: in a bucket if one is configured, or else in a folder. Throws if a bucket has no
 * access key.
 */
export const storageOf = (
  config: Pick<Config, 'STORAGE_DIR' | `S3_${'BUCKET' | 'REGION' | 'ENDPOINT' | 'ACCESS_KEY_ID' | 'SECRET_ACCESS_KEY'}`>,
) => {
  const {STORAGE_DIR: directory, S3_BUCKET: bucket, S3_REGION: region, S3_ENDPOINT: endpoint} = config
  if (bucket === undefined) return {directory}
  const {S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey} = config
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new Error('S3_BUCKET is set, so S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are needed too.')
  return {directory, s3: {bucket, region, endpoint, accessKeyId, secretAccessKey}}
}
