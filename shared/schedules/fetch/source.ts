import {z} from 'zod'
import {clearable} from '../../schema/json-schema.ts'
import {readHost} from '../outbound/hosts.ts'
import {exportAddressOf} from './google-sheet.ts'
import {fillText, isFillable} from './placeholders.ts'

const mostHeaders = 10
const text = (most: number) => z.string().min(1).max(most)
/** A text without NUL, CR and LF, because these characters end a line or a text in HTTP, SFTP and the database protocols. */
const line = (most: number) => text(most).refine(written => !/[\0\r\n]/.test(written), 'One line, without control characters')

const withDates = (most: number) => line(most).refine(isFillable, 'Write the due date as {date:yyyy-MM-dd} or {date-1d:yyyyMMdd_HHmm}')

/** Headers that a user may not set: those of the HTTP transport, of proxies, of ranges and of cookies. An `authorization` header is allowed. */
const ownHeaders =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|range|cookie|proxy-.*)$/i
const Headers = z
  .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/), line(4_096).regex(/^[\x20-\x7e]*$/, 'ASCII characters only'))
  .refine(headers => Object.keys(headers).length <= mostHeaders, `At most ${mostHeaders} headers`)
  .refine(headers => !Object.keys(headers).some(name => ownHeaders.test(name)), 'These headers are set by the connection. Remove them')

/** Returns whether a URL is valid with a fixed host. `{date:…}` may occur in the path and the query. */
const isWebAddress = (url: string) => /^https?:\/\/[^/?#{}@\\]+([/?]|$)/i.test(url) && URL.canParse(fillText(url))
const Url = withDates(2_048).refine(isWebAddress, 'Use a URL such as https://files.example.com/orders.csv, without user and password')

const Https = z.strictObject({
  kind: z.literal('https').describe('From a web server'),
  url: Url.describe('The URL. Its query is stored separately, because it may be a credential (a signed link)'),
  query: withDates(4_096).optional().describe('The query of the URL, without its `?`. A credential: never returned'),
  headers: Headers.optional().describe('Headers by name, at most 10. A credential: never returned'),
  basic: z
    .strictObject({
      user: line(500)
        .regex(/^[^:]*$/, 'No colon')
        .describe('The user'),
      password: line(2_000).describe('The password'),
    })
    .optional()
    .describe('HTTP basic authentication. A credential: never returned'),
  bearer: line(8_192)
    .regex(/^[\x21-\x7e]+$/, 'ASCII characters only')
    .optional()
    .describe('A bearer token. A credential: never returned'),
})

const bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'The name of a bucket: lower-case letters, digits, dots and hyphens')
const S3 = z.strictObject({
  kind: z.literal('s3').describe('From a bucket of S3 or a compatible store'),
  endpoint: line(500)
    .refine(url => URL.canParse(url) && /^https?:\/\/[^/?#{}@\\]+\/?$/i.test(url), 'An origin like https://s3.example.com')
    .optional()
    .describe('The origin of a store other than Amazon’s'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'A region like eu-central-1')
    .default('us-east-1')
    .describe('The region of the bucket'),
  bucket: bucket.describe('The bucket'),
  key: withDates(1_024).describe('The object’s key; it may contain the due date, as `{date:yyyy-MM-dd}`'),
  accessKeyId: z
    .string()
    .regex(/^[\w.+/=-]{1,128}$/)
    .describe('The access key id'),
  secretAccessKey: line(1_024).describe('The secret access key. A credential: never returned'),
  pathStyle: z
    .boolean()
    .optional()
    .describe('`https://host/bucket/key` instead of `https://bucket.host/key`. Left out: yes with an `endpoint`, otherwise no'),
})

const portField = (usual: number) => z.number().int().min(1).max(65_535).default(usual).describe('The port')

const Sftp = z.strictObject({
  kind: z.literal('sftp').describe('Over SSH'),
  host: line(253)
    .refine(host => readHost(host) !== null, 'The name of a host, e.g. sftp.example.com')
    .describe('The host'),
  port: portField(22),
  user: line(255).describe('The user'),
  path: withDates(1_024).describe('The file’s path; it may contain the due date, as `{date:yyyy-MM-dd}`'),
  password: line(2_000).optional().describe('The password, or else `privateKey`. A credential: never returned'),
  privateKey: text(16_384).optional().describe('The private key in OpenSSH or PEM format. A credential: never returned'),
  passphrase: line(2_000).optional().describe('The passphrase of `privateKey`. A credential: never returned'),
  hostKey: z
    .string()
    .regex(
      /^SHA256:[A-Za-z0-9+/]{43}$/,
      'As `ssh-keygen -lf` prints it: SHA256: and 43 letters; `ssh-keyscan <host> | ssh-keygen -lf -` shows it',
    )
    .describe('The digest of the host key. It ensures that credentials are sent only to this host'),
})

const pem = /^\s*-----BEGIN CERTIFICATE-----\s[^\0]*-----END CERTIFICATE-----\s*$/

const databaseFields = {
  host: line(253)
    .refine(host => readHost(host) !== null, 'The name of a host, e.g. db.example.com')
    .describe('The host'),
  database: line(64).describe('The database'),
  user: line(80).describe('The user. Give it the right to read what the query names, and no other'),
  password: line(2_000).describe('The password. A credential: never returned'),
  query: text(20_000)
    .refine(written => !written.includes('\0'), 'The query contains a NUL character. Remove it')
    .refine(isFillable, 'Write the due date as {date:yyyy-MM-dd} or {date-1d:yyyyMMdd_HHmm}')
    .describe('One statement that returns rows, such as a SELECT. It may contain the due date, as `{date:yyyy-MM-dd}`'),
  tls: z
    .boolean()
    .default(true)
    .describe('Whether the connection is encrypted and the certificate of the server is verified. Required for public hosts'),
  ca: text(65_536)
    .regex(pem, 'Certificates in PEM format')
    .optional()
    .describe('The certificate authority, if it is not a public one (PEM)'),
}

const Postgres = z.strictObject({
  kind: z.literal('postgres').describe('From a query of a PostgreSQL database'),
  port: portField(5432),
  ...databaseFields,
})

const Mysql = z.strictObject({
  kind: z.literal('mysql').describe('From a query of a MySQL or MariaDB database'),
  port: portField(3306),
  ...databaseFields,
})

/** Moves the query out of the URL, into the field that is stored encrypted. The link of a Google sheet becomes the address of its export. */
const apart = <S extends {kind: string}>(source: S): S => {
  if (!('url' in source) || typeof source.url !== 'string') return source
  const address = exportAddressOf(source.url)
  const [, url = address, query] = /^([^?#]*)(?:\?([^#]*))?/.exec(address) ?? []
  return {...source, url, ...(query && {query})}
}

const isLetInOnce = (source: {kind: string; basic?: unknown; bearer?: unknown; headers?: Record<string, string> | null | undefined}) =>
  [source.basic, source.bearer, Object.keys(source.headers ?? {}).find(name => /^authorization$/i.test(name))].filter(Boolean).length <= 1

export const FileSource = z
  .discriminatedUnion('kind', [Https, S3, Sftp, Postgres, Mysql])
  .transform(apart)
  .refine(source => source.kind !== 'https' || isLetInOnce(source), {
    path: ['basic'],
    message: 'Use only one of `basic`, `bearer` and an `authorization` header',
  })
  .refine(source => source.kind !== 'sftp' || (source.password === undefined) !== (source.privateKey === undefined), {
    path: ['password'],
    message: 'Use either a `password` or a `privateKey`',
  })
  .refine(source => source.kind !== 'sftp' || source.passphrase === undefined || source.privateKey !== undefined, {
    path: ['passphrase'],
    message: 'A `passphrase` needs a `privateKey`',
  })
export type FileSource = z.output<typeof FileSource>

/** Whether the file is made from the rows of a database query. */
export const isQuery = ({kind}: Pick<FileSource, 'kind'>): boolean => kind === 'postgres' || kind === 'mysql'

const Changed = [
  Https.extend({
    query: clearable(Https.shape.query),
    headers: clearable(Https.shape.headers),
    basic: clearable(Https.shape.basic),
    bearer: clearable(Https.shape.bearer),
  }),
  S3.extend({secretAccessKey: S3.shape.secretAccessKey.optional()}),
  Sftp.extend({
    password: clearable(Sftp.shape.password),
    privateKey: clearable(Sftp.shape.privateKey),
    passphrase: clearable(Sftp.shape.passphrase),
  }),
  Postgres.extend({password: databaseFields.password.optional()}),
  Mysql.extend({password: databaseFields.password.optional()}),
] as const

/** A source in a change. A credential that is left out is kept, and null removes it. For the conditions, see `mergeCredentials` in `sealed.ts`. */
export const SourceChange = z.discriminatedUnion('kind', Changed).transform(apart)
export type SourceChange = z.output<typeof SourceChange>
