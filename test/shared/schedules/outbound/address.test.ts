import test from 'ava'
import {readConfig} from '../../../../shared/config.ts'
import {isPublic} from '../../../../shared/schedules/outbound/address.ts'
import {fits, readHost, readPattern, readPlace} from '../../../../shared/schedules/outbound/hosts.ts'

/** Addresses that no request may reach: those of the special-purpose registries of IANA, and unallocated ones. */
const setAside = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '::127.0.0.1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '4000::1',
]
const everybodys = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '198.17.255.255',
]
const everybodys6 = ['2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001:80b::200e']

test('addresses of this machine, private networks and reserved ranges are not public; others are', t => {
  for (const address of setAside) t.false(isPublic(address), address)
  for (const address of [...everybodys, ...everybodys6]) t.true(isPublic(address), address)
  for (const nonsense of ['', 'localhost', '127.1', '1.2.3', 'fe80::1%eth0', '300.1.1.1']) t.false(isPublic(nonsense), nonsense)
})

test('every notation of a host has one form', t => {
  const loopback = [
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '１２７.０.０.１',
    '127。0。0。1',
  ]
  for (const written of loopback) t.is(readHost(written), '127.0.0.1', written)
  for (const written of ['[::1]', '::1', '0:0:0:0:0:0:0:1']) t.is(readHost(written), '::1', written)
  t.deepEqual(['[::ffff:127.0.0.1]', 'LOCALHOST.', 'Bücher.example', '%6c%6fcalhost'].map(readHost), [
    '::ffff:7f00:1',
    'localhost',
    'xn--bcher-kva.example',
    'localhost',
  ])
  for (const none of [
    '',
    'a b',
    'a/b',
    'a@b',
    'a:1',
    'a#b',
    'a?b',
    'a\\b',
    '[::1',
    '[::1]:2',
    '256.1.1.1',
    'a\tb',
    '[fe80::1%25eth0]',
    'fe80::1%eth0',
  ])
    t.is(readHost(none), null, none)
})

test('PRIVATE_HOSTS are host and port, SOURCE_HOSTS are patterns, each normalised', t => {
  t.deepEqual(['nas.example:22', '127.1:8080', '[::1]:443', 'NAS.example.:1'].map(readPlace), [
    'nas.example:22',
    '127.0.0.1:8080',
    '[::1]:443',
    'nas.example:1',
  ])
  for (const bad of ['nas.example', 'nas.example:0', 'nas.example:65536', ':22', 'https://nas.example:22', '::1'])
    t.is(readPlace(bad), null, bad)
  t.deepEqual(['*', '*.Example.com', 'sftp.example.com'].map(readPattern), ['*', '*.example.com', 'sftp.example.com'])
  for (const bad of ['*.*', 'a*.example.com', '**', '*.', 'https://a.example']) t.is(readPattern(bad), null, bad)
  const {PRIVATE_HOSTS, SOURCE_HOSTS} = readConfig({PRIVATE_HOSTS: '127.1:80, nas.example:22'})
  t.deepEqual([PRIVATE_HOSTS, SOURCE_HOSTS], [['127.0.0.1:80', 'nas.example:22'], ['*']])
  t.deepEqual(readConfig({PRIVATE_HOSTS: '127.1:80=org_1'}).PRIVATE_HOSTS, ['127.0.0.1:80=org_1'])
  for (const wrong of ['127.1:80=', '127.1:80=me', '127.1:80=org_1=org_2', '=org_1'])
    t.throws(() => readConfig({PRIVATE_HOSTS: wrong}), {message: /PRIVATE_HOSTS/})
  t.throws(() => readConfig({PRIVATE_HOSTS: 'nas.example'}), {message: /PRIVATE_HOSTS.*nas\.example: each is <host>:<port>/})
  t.throws(() => readConfig({SOURCE_HOSTS: 'a*.example'}), {message: /SOURCE_HOSTS/})
})

test('a pattern matches its host or hosts below it, and no others', t => {
  t.true(fits('a.example.com', ['*.example.com']))
  t.true(fits('a.b.example.com', ['x.example', '*.example.com']))
  t.true(fits('anything.example', ['*']))
  for (const host of ['example.com', 'badexample.com', 'example.com.evil.example', 'a.example.org'])
    t.false(fits(host, ['*.example.com']), host)
  t.false(fits('a.example.com', ['example.com']))
  t.false(fits('a.example.com', []))
})
