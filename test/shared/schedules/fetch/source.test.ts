import {randomBytes} from 'node:crypto'
import test from 'ava'
import ssh2 from 'ssh2'
import {Refusal} from '../../../../shared/errors.ts'
import {oneLineOf} from '../../../../shared/schedules/fetch/failure.ts'
import {
  describeSource,
  FileSource,
  fillPlaceholders,
  mergeCredentials,
  openSource,
  SourceChange,
  sealSource,
} from '../../../../shared/schedules/fetch/main.ts'
import {nameOf} from '../../../../shared/schedules/fetch/name.ts'
import {roundsOf} from '../../../../shared/schedules/fetch/private-key.ts'

const hostKey = `SHA256:${'a'.repeat(43)}`
const given = {
  https: {
    kind: 'https',
    url: 'https://files.example/orders.csv?sig=query-secret#there',
    headers: {'x-key': 'header-secret'},
    bearer: 'bearer-secret',
  },
  basic: {kind: 'https', url: 'https://files.example/orders.csv', basic: {user: 'ana', password: 'basic-secret'}},
  s3: {kind: 's3', region: 'eu-central-1', bucket: 'files', key: 'in/orders.csv', accessKeyId: 'AKIA1', secretAccessKey: 's3-secret'},
  sftp: {kind: 'sftp', host: 'sftp.example', user: 'ana', path: '/out/orders.csv', password: 'sftp-secret', hostKey},
  key: {
    kind: 'sftp',
    host: 'sftp.example',
    user: 'ana',
    path: '/out/orders.csv',
    privateKey: 'key-secret',
    passphrase: 'pass-secret',
    hostKey,
  },
  postgres: {
    kind: 'postgres',
    host: 'db.example',
    database: 'shop',
    user: 'ana',
    password: 'db-secret',
    query: "select *\nfrom orders where day = '{date-1d:yyyy-MM-dd}'",
  },
  mysql: {
    kind: 'mysql',
    host: 'db.example',
    database: 'shop',
    user: 'ana',
    password: 'db-secret',
    query: "select *\nfrom orders where day = '{date-1d:yyyy-MM-dd}'",
  },
} as const
const ring = [{id: 'k1', key: randomBytes(32)}]

const read = (name: keyof typeof given): FileSource => FileSource.parse(given[name])

test('a source is stored as a public part and credentials that open only for their own row', t => {
  for (const name of Object.keys(given) as (keyof typeof given)[]) {
    const {open, sealed} = sealSource(ring, read(name), 'sch_1')
    t.notRegex(JSON.stringify({open, sealed}), /secret[^A]|-secret/i, name)
    t.deepEqual(openSource(ring, {open: JSON.parse(JSON.stringify(open)), sealed}, 'sch_1'), read(name), name)
    t.throws(() => openSource(ring, {open, sealed}, 'sch_2'), undefined, name)
  }
  const plain = FileSource.parse({kind: 'https', url: 'https://files.example/a.csv'})
  const {open, sealed} = sealSource(ring, plain, 'sch_1')
  t.is(sealed, null)
  t.deepEqual(openSource(ring, {open, sealed}, 'sch_1'), plain)
})

test('a description names the stored credentials without their values', t => {
  t.deepEqual(describeSource(read('https')), {
    kind: 'https',
    url: 'https://files.example/orders.csv',
    credentials: ['query', 'headers', 'bearer'],
  })
  t.deepEqual(describeSource(read('s3')), {
    kind: 's3',
    region: 'eu-central-1',
    bucket: 'files',
    key: 'in/orders.csv',
    accessKeyId: 'AKIA1',
    credentials: ['secretAccessKey'],
  })
  t.deepEqual(describeSource(read('key')), {
    kind: 'sftp',
    host: 'sftp.example',
    port: 22,
    user: 'ana',
    path: '/out/orders.csv',
    hostKey,
    credentials: ['privateKey', 'passphrase'],
  })
  const {password: _, ...shown} = given.postgres
  t.deepEqual(describeSource(read('postgres')), {...shown, port: 5432, tls: true, credentials: ['password']})
  t.deepEqual(describeSource(read('mysql')), {...shown, kind: 'mysql', port: 3306, tls: true, credentials: ['password']})
})

const change = (name: keyof typeof given, changes: object) => {
  const {credentials: _, ...shown} = describeSource(read(name))
  return mergeCredentials(read(name), SourceChange.parse({...shown, ...changes}))
}

test('unsent credentials are kept, null removes one, and a new one replaces another kind', t => {
  for (const name of Object.keys(given) as (keyof typeof given)[]) t.deepEqual(change(name, {}), read(name), name)
  const dated = FileSource.parse({...given.basic, url: 'https://files.example/{date:yyyy}/{date-1d:MM}.csv'})
  const redated = {kind: 'https', url: 'https://files.example/{date-2d:yyyy}/{date:dd}.csv'}
  t.like(mergeCredentials(dated, SourceChange.parse(redated)), {...redated, basic: given.basic.basic})
  t.deepEqual(change('https', {query: null, headers: null, bearer: null}), {kind: 'https', url: 'https://files.example/orders.csv'})
  t.deepEqual(change('basic', {bearer: 'new'}), {kind: 'https', url: 'https://files.example/orders.csv', bearer: 'new'})
  t.false('password' in change('sftp', {privateKey: 'new'}))
  t.false('passphrase' in change('key', {privateKey: 'new'}))
  t.like(change('key', {passphrase: 'new'}), {privateKey: given.key.privateKey, passphrase: 'new'})
  t.like(change('postgres', {query: 'select 1'}), {query: 'select 1', password: 'db-secret'})
  t.like(change('mysql', {query: 'select 1'}), {query: 'select 1', password: 'db-secret'})
  t.like(change('s3', {key: 'in/other.csv'}), {key: 'in/other.csv', secretAccessKey: 's3-secret'})
})

test('the error of a database is one line that Postgres can store', t => {
  t.is(oneLineOf('a\0\n b'), 'a b')
  t.is(oneLineOf(`${'x'.repeat(299)}\u{1f600}`), `${'x'.repeat(299)}\ufffd`)
})

test('stored credentials are not sent to another host, path, user or key', t => {
  const moved: [keyof typeof given, object][] = [
    ['https', {url: 'https://evil.example/orders.csv'}],
    ['https', {url: 'https://files.example:8443/orders.csv'}],
    ['https', {url: 'http://files.example/orders.csv'}],
    ['https', {url: 'https://files.example/mine/orders.csv'}],
    ['https', {url: 'https://files.example/{date:yyyy}.csv'}],
    ['https', {url: 'https://files.example/orders.csv/../mine'}],
    ['https', {url: 'https://files.example.evil.example/orders.csv', bearer: 'new'}],
    ['s3', {endpoint: 'https://evil.example'}],
    ['s3', {accessKeyId: 'AKIA2'}],
    ['s3', {region: 'eu-west-1'}],
    ['sftp', {host: 'evil.example'}],
    ['sftp', {port: 2222}],
    ['sftp', {user: 'root'}],
    ['sftp', {hostKey: `SHA256:${'b'.repeat(43)}`}],
    ['key', {host: 'evil.example'}],
    ['postgres', {host: 'evil.example'}],
    ['postgres', {port: 5433}],
    ['postgres', {database: 'other'}],
    ['postgres', {user: 'root'}],
    ['postgres', {tls: false}],
    ['mysql', {host: 'evil.example'}],
    ['mysql', {tls: false}],
    ['postgres', {ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'}],
  ]
  for (const [name, changes] of moved) {
    const refused = t.throws<Refusal>(() => change(name, changes), {instanceOf: Refusal}, JSON.stringify(changes))
    t.is(refused.code, 'INVALID')
    t.notRegex(JSON.stringify(refused.envelope), /-secret/)
  }
  t.like(change('sftp', {host: 'other.example', password: 'new'}), {host: 'other.example', password: 'new'})
  t.like(change('https', {url: 'https://other.example/a.csv', query: null, headers: null, bearer: 'new'}), {bearer: 'new'})
  t.throws(() => mergeCredentials(read('https'), SourceChange.parse({...given.s3, secretAccessKey: undefined})), {instanceOf: Refusal})
})

test('a source that cannot be fetched or would leak secrets is refused when it is saved', t => {
  const bad: object[] = [
    {kind: 'ftp', url: 'ftp://a.example/b'},
    ...[
      'files.example/a.csv',
      'https://a@files.example/',
      'https://a:b@files.example/',
      'https://{date:yyyy}.example/',
      'https://',
      'file:///etc/passwd',
    ].map(url => ({kind: 'https', url})),
    ...['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'Cookie', 'Range', 'bad name'].map(name => ({
      ...given.basic,
      headers: {[name]: 'a'},
    })),
    {...given.https, headers: {'x-a': 'a\r\nx-b: b'}},
    {...given.https, headers: Object.fromEntries(Array.from({length: 11}, (_, n) => [`x-${n}`, 'a']))},
    {...given.https, basic: given.basic.basic},
    {...given.https, headers: {Authorization: 'a'}},
    {...given.basic, basic: {user: 'a:b', password: 'c'}},
    ...['UPPER', 'a', 'a/b', '../a', 'arn:aws:s3:us-east-1:1:accesspoint/a'].map(bucket => ({...given.s3, bucket})),
    ...['evil.example/', 'a b', 'x@y'].map(region => ({...given.s3, region})),
    ...['https://a.example/path', 'https://a@b.example', 's3.example'].map(endpoint => ({...given.s3, endpoint})),
    {...given.s3, secretAccessKey: undefined},
    ...['a b', 'sftp://a.example', 'a.example:22', 'a@b', ''].map(host => ({...given.sftp, host})),
    {...given.sftp, password: undefined},
    {...given.sftp, privateKey: 'a'},
    {...given.sftp, passphrase: 'a'},
    {...given.sftp, hostKey: undefined},
    {...given.sftp, hostKey: 'MD5:16:27:ac:a5'},
    {...given.sftp, path: 'a\0b'},
    {...given.sftp, more: 1},
    ...['a b', 'postgres://a.example', 'a.example:22', ''].map(host => ({...given.postgres, host})),
    ...['', 'select \0', "select '{date:}'", 'x'.repeat(20_001)].map(query => ({...given.postgres, query})),
    {...given.postgres, password: undefined},
    {...given.postgres, password: null},
    {...given.postgres, ca: '/etc/passwd'},
  ]
  for (const source of bad) t.false(FileSource.safeParse(source).success, JSON.stringify(source))
  for (const name of Object.keys(given)) t.true(FileSource.safeParse(given[name as keyof typeof given]).success, name)
})

test('the due time is inserted in a path in its time zone', t => {
  // At 23:30 UTC, the day on which clocks go forward has already begun in Berlin.
  const due = {at: new Date('2027-03-27T23:30:00Z'), timezone: 'Europe/Berlin'}
  const fill = (key: string) => fillPlaceholders(FileSource.parse({...given.s3, key}), due)
  t.like(fill('in/{date:yyyy-MM-dd}/o_{date:yyyyMMdd_HHmm}.csv'), {key: 'in/2027-03-28/o_20270328_0030.csv'})
  t.like(fill('{date-1d:yyyy.MM.dd} {date-28d:MM}'), {key: '2027.03.27 02'})
  t.like(fill('{date:YYYY-MM-DD}'), {key: '2027-03-28'})
  t.like(fill('{name}_{}_{update}'), {key: '{name}_{}_{update}'})
  for (const key of ['{date}', '{date:}', '{Date:yyyy}', '{date-1:dd}', '{ date:dd}', '{date:yyyy/MM}'])
    t.false(FileSource.safeParse({...given.s3, key}).success, key)
  const web = FileSource.parse({kind: 'https', url: 'https://files.example/{date:yyyy}/a.csv?day={date:dd}'})
  t.like(fillPlaceholders(web, due), {url: 'https://files.example/2027/a.csv', query: 'day=28'})
  for (const kind of ['postgres', 'mysql'] as const)
    t.like(fillPlaceholders(read(kind), due), {query: "select *\nfrom orders where day = '2027-03-27'"})
  t.like(fillPlaceholders(read('sftp'), due), {path: '/out/orders.csv'})
})

test('a file name is the last part of the path or from the answer, without hidden or path characters', t => {
  t.is(nameOf('/a/b/orders.csv'), 'orders.csv')
  t.is(nameOf('/a/b/', undefined), 'b')
  t.is(nameOf('/', undefined), 'file')
  t.is(nameOf('/x', 'attachment; filename="orders 1.csv"'), 'orders 1.csv')
  t.is(nameOf('/x', `attachment; filename="e.csv"; filename*=UTF-8''%E2%82%AC.csv`), '€.csv')
  for (const [said, name] of [
    ['../../etc/passwd', 'passwd'],
    ['..\\\\..\\\\a.csv', 'a.csv'],
    ['..', 'x'],
    ['', 'x'],
  ] as const)
    t.is(nameOf('/x', `attachment; filename="${said}"`), name)
  t.is(nameOf('/x', 'attachment; filename=; broken'), 'x')
  t.is(nameOf('/a\u202Evsc.exe\u0000\n'), 'avsc.exe')
  t.is(nameOf(`/${'n'.repeat(300)}.csv`), `${'n'.repeat(196)}.csv`)
})

test('a private key reveals its number of key derivation rounds', t => {
  const sealed = (rounds: number) => ssh2.utils.generateKeyPairSync('ed25519', {passphrase: 'a', cipher: 'aes256-ctr', rounds}).private
  t.deepEqual([sealed(3), sealed(9)].map(roundsOf), [3, 9])
  t.is(roundsOf(ssh2.utils.generateKeyPairSync('ed25519').private), 0)
  for (const other of [
    '',
    'no key',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END',
    '-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END',
  ])
    t.is(roundsOf(other), 0, other)
})
