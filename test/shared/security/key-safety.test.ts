import {randomBytes} from 'node:crypto'
import test from 'ava'
import {readConfig} from '../../../shared/config.ts'

const good = () => `k1:${randomBytes(32).toString('base64')}`
const own = () => ({SECRETS_KEYS: good(), SESSION_KEYS: good(), CRM_CLIENT_SECRET: 'ours'})
const zero = Buffer.alloc(32).toString('base64')
const development = 'bGFkaW5nLWRldmVsb3BtZW50LWtleS1vbmx5LTMyYnk='
const counting = Buffer.from(Array.from({length: 32}, (_, at) => at)).toString('base64')

const exposed = {
  'HOST is every address': {HOST: '0.0.0.0'},
  'HOST is every IPv6 address': {HOST: '::'},
  'HOST is a private address': {HOST: '10.0.0.7'},
  'PUBLIC_URL is public': {PUBLIC_URL: 'https://lading.example'},
  production: {NODE_ENV: 'production', PUBLIC_URL: 'https://lading.example'},
}

for (const [how, environment] of Object.entries(exposed)) {
  test(`a process reachable by others needs its own keys: ${how}`, t => {
    t.notThrows(() => readConfig({...environment, ...own()}))
    for (const NODE_ENV of [undefined, 'development', 'test', 'production'])
      for (const name of ['SECRETS_KEYS', 'SESSION_KEYS'])
        for (const keys of [undefined, `dev:${development}`, `k9:${development}`, `k1:${zero}`, `k1:${counting}`, `${good()},k2:${zero}`]) {
          const given = {...own(), ...environment, ...(NODE_ENV && {NODE_ENV, PUBLIC_URL: 'https://lading.example'}), [name]: keys}
          t.throws(() => readConfig(given), {message: new RegExp(name)}, `${NODE_ENV} ${name} ${keys}`)
        }
    t.throws(() => readConfig({...own(), ...environment, CRM_CLIENT_SECRET: undefined}), {message: /CRM_CLIENT_SECRET/})
    const CRM_CLIENTS = '{"eu": {"id": "1000.EU", "secret": "ours"}}'
    t.notThrows(() => readConfig({...own(), ...environment, CRM_CLIENT_SECRET: undefined, CRM_CLIENTS}))
  })
}

test('an empty key ring and a short key are always refused', t => {
  for (const keys of [',', ' , ', 'k1:', `k1:${randomBytes(31).toString('base64')}`, `:${zero}`])
    t.throws(() => readConfig({SESSION_KEYS: keys}), {message: /SESSION_KEYS/}, keys)
})

test('two keys with one id are refused, and so is a dot in an id of SECRETS_KEYS', t => {
  for (const name of ['SECRETS_KEYS', 'SESSION_KEYS'])
    t.throws(() => readConfig({[name]: `${good()},${good()}`}), {message: /Two keys have the id k1/}, name)
  const dotted = good().replace('k1', '2026.11')
  t.throws(() => readConfig({SECRETS_KEYS: `${good()},${dotted}`}), {message: /The key id 2026\.11 has a dot\. Write 2026-11/})
  t.is(readConfig({SESSION_KEYS: dotted}).SESSION_KEYS[0]!.id, '2026.11', 'the id of a session key is no part of a text with dots')
})

test('the development keys are accepted on loopback', t => {
  for (const environment of [{}, {HOST: 'localhost'}, {HOST: '::1'}, {HOST: '127.0.0.2', PUBLIC_URL: 'http://localhost:4000'}])
    t.notThrows(() => readConfig(environment), JSON.stringify(environment))
})

test('production needs an https address', t => {
  for (const PUBLIC_URL of [undefined, 'http://lading.example', 'http://127.0.0.1:4000'])
    t.throws(() => readConfig({...own(), NODE_ENV: 'production', PUBLIC_URL}), {message: /PUBLIC_URL.*https/})
})
