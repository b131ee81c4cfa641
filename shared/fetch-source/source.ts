import {z} from 'zod'
import {orTakenAway} from '../drawn.ts'
import {readHost} from '../outbound/hosts.ts'
import {fillText, isFillable} from './placeholders.ts'

const mostHeaders = 10
const text = (most: number) => z.string().min(1).max(most)
/** What ends a line, or text altogether, in every protocol below. */
const line = (most: number) => text(most).refine(written => !/[\0\r\n]/.test(written), 'One line, without control characters')

const withDates = (most: number) =>
  line(most).refine(isFillable, 'The due date is written like {date:yyyy-MM-dd} or {date-1d:yyyyMMdd_HHmm}')

/** Those are the connection's own, or have a field of theirs (`basic`, `bearer`). */
const ownHeaders =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|range|cookie|proxy-.*)$/i
const Headers = z
  .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/), line(4_096).regex(/^[\x20-\x7e]*$/, 'Letters of ASCII only'))
  .refine(headers => Object.keys(headers).length <= mostHeaders, `At most ${mostHeaders} headers`)
  .refine(headers => !Object.keys(headers).some(name => ownHeaders.test(name)), 'These headers are set by the connection itself')

/** Where it leads is fixed; `{date:…}` may stand in the path and the query. */
const isWebAddress = (url: string) => /^https?:\/\/[^/?#{}@\\]+([/?]|$)/i.test(url) && URL.canParse(fillText(url))
const Url = withDates(2_048).refine(
  isWebAddress,
  'A web address like https://files.example.com/orders.csv, without a user or a password in it',
)

const Https = z.strictObject({
  kind: z.literal('https').describe('From a web server'),
  url: Url.describe('The address. A query in it is kept apart, since it may be what lets one in (a signed link)'),
  query: withDates(4_096).optional().describe('The query of the address, without its `?`. A credential: never told'),
  headers: Headers.optional().describe('Headers by name, at most 10. A credential: never told'),
  basic: z
    .strictObject({
      user: line(500)
        .regex(/^[^:]*$/, 'No colon')
        .describe('The user'),
      password: line(2_000).describe('The password'),
    })
    .optional()
    .describe('HTTP basic authentication. A credential: never told'),
  bearer: line(8_192)
    .regex(/^[\x21-\x7e]+$/, 'Letters of ASCII only')
    .optional()
    .describe('A bearer token. A credential: never told'),
})

const bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'The name of a bucket: small letters, digits, dots and hyphens')
const S3 = z.strictObject({
  kind: z.literal('s3').describe('From a bucket of S3, or of a store that speaks as it does'),
  endpoint: line(500)
    .refine(url => URL.canParse(url) && /^https?:\/\/[^/?#{}@\\]+\/?$/i.test(url), 'An origin like https://s3.example.com')
    .optional()
    .describe('The origin of a store other than Amazon’s'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'A region like eu-central-1')
    .default('us-east-1')
    .describe('The region it is in'),
  bucket: bucket.describe('The bucket'),
  key: withDates(1_024).describe('The object’s key; the due date may stand in it like `{date:yyyy-MM-dd}`'),
  accessKeyId: z
    .string()
    .regex(/^[\w.+/=-]{1,128}$/)
    .describe('Who asks'),
  secretAccessKey: line(1_024).describe('A credential: never told'),
  pathStyle: z
    .boolean()
    .optional()
    .describe('`https://host/bucket/key` in place of `https://bucket.host/key`; left out, so it is with an `endpoint`'),
})

const Sftp = z.strictObject({
  kind: z.literal('sftp').describe('Over SSH'),
  host: line(253)
    .refine(host => readHost(host) !== null, 'The name of a host, e.g. sftp.example.com')
    .describe('The host'),
  port: z.number().int().min(1).max(65_535).default(22).describe('The port'),
  user: line(255).describe('The user'),
  path: withDates(1_024).describe('The file’s path; the due date may stand in it like `{date:yyyy-MM-dd}`'),
  password: line(2_000).optional().describe('Either this or `privateKey`. A credential: never told'),
  privateKey: text(16_384).optional().describe('As OpenSSH or PEM writes it. A credential: never told'),
  passphrase: line(2_000).optional().describe('Of `privateKey`. A credential: never told'),
  hostKey: z
    .string()
    .regex(
      /^SHA256:[A-Za-z0-9+/]{43}$/,
      'As `ssh-keygen -lf` prints it: SHA256: and 43 letters; `ssh-keyscan <host> | ssh-keygen -lf -` shows it',
    )
    .describe('The host’s own key, by its digest: without it nobody could say whom the password is given to'),
})

/** A query in the address goes where it is kept from sight. */
const apart = <S extends {kind: string}>(source: S): S => {
  if (!('url' in source) || typeof source.url !== 'string') return source
  const [, url = source.url, query] = /^([^?#]*)(?:\?([^#]*))?/.exec(source.url) ?? []
  return {...source, url, ...(query && {query})}
}

const isLetInOnce = (source: {kind: string; basic?: unknown; bearer?: unknown; headers?: Record<string, string> | null | undefined}) =>
  [source.basic, source.bearer, Object.keys(source.headers ?? {}).find(name => /^authorization$/i.test(name))].filter(Boolean).length <= 1

/** Where a file is fetched from, with what lets one in. */
export const FileSource = z
  .discriminatedUnion('kind', [Https, S3, Sftp])
  .transform(apart)
  .refine(source => source.kind !== 'https' || isLetInOnce(source), {
    path: ['basic'],
    message: 'One of `basic`, `bearer` and an `authorization` header, not several',
  })
  .refine(source => source.kind !== 'sftp' || (source.password === undefined) !== (source.privateKey === undefined), {
    path: ['password'],
    message: 'Either a `password` or a `privateKey`',
  })
  .refine(source => source.kind !== 'sftp' || source.passphrase === undefined || source.privateKey !== undefined, {
    path: ['passphrase'],
    message: 'A `passphrase` goes with a `privateKey`',
  })
export type FileSource = z.output<typeof FileSource>

const Changed = [
  Https.extend({
    query: orTakenAway(Https.shape.query),
    headers: orTakenAway(Https.shape.headers),
    basic: orTakenAway(Https.shape.basic),
    bearer: orTakenAway(Https.shape.bearer),
  }),
  S3.extend({secretAccessKey: S3.shape.secretAccessKey.optional()}),
  Sftp.extend({
    password: orTakenAway(Sftp.shape.password),
    privateKey: orTakenAway(Sftp.shape.privateKey),
    passphrase: orTakenAway(Sftp.shape.passphrase),
  }),
] as const

/** The same as somebody sends it who changes one: a credential that is left out stays, null takes it away (`mergeCredentials`). */
export const SourceChange = z.discriminatedUnion('kind', Changed).transform(apart)
export type SourceChange = z.output<typeof SourceChange>
