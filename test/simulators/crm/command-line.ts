import {parseArgs} from 'node:util'
import type {CrmOptions, CrmSimulator} from '../crm.ts'
import type {ClientSpec} from './clients.ts'
import type {Switches} from './switches.ts'

const usage = `node test/simulators/crm.ts [--port 4010] [--control] [--snapshot FILE] [--client id:secret]...
  [--latency MS] [--journal ENTRIES] [--no-bodies] [--switch name=value]... [--at INSTANT] [--frozen] [--samples]`

/** Runs the stand-in as a process: prints its address, and stops on SIGTERM and SIGINT. */
export const runAlone = async (start: (options: CrmOptions) => Promise<CrmSimulator>) => {
  const options = readOptions(process.argv.slice(2))
  if (!options) {
    console.error(usage)
    process.exitCode = 2
    return
  }
  const crm = await start(options)
  console.log(crm.url)
  const end = () => {
    crm.stop().then(
      () => process.exit(0),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}

export const readOptions = (args: string[]): CrmOptions | null => {
  try {
    const {values} = parseArgs({
      args,
      options: {
        port: {type: 'string', default: '4010'},
        control: {type: 'boolean', default: false},
        snapshot: {type: 'string'},
        client: {type: 'string', multiple: true},
        latency: {type: 'string'},
        journal: {type: 'string'},
        'no-bodies': {type: 'boolean', default: false},
        switch: {type: 'string', multiple: true, default: []},
        at: {type: 'string'},
        frozen: {type: 'boolean', default: false},
        samples: {type: 'boolean', default: false},
      },
    })
    const switches: Record<string, unknown> = Object.fromEntries(values.switch.map(readSwitch))
    if (values.latency !== undefined) switches.latencyMs = Number(values.latency)
    return {
      port: Number(values.port),
      control: values.control,
      samples: values.samples,
      ...(values.snapshot === undefined ? {} : {snapshot: values.snapshot}),
      ...(values.client === undefined ? {} : {clients: values.client.map(readClient)}),
      switches: switches as Partial<Switches>,
      clock: {...(values.at === undefined ? {} : {at: values.at}), frozen: values.frozen},
      journal: {...(values.journal === undefined ? {} : {limit: Number(values.journal)}), bodies: !values['no-bodies']},
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return null
  }
}

const readClient = (text: string): ClientSpec => {
  const [clientId, ...secret] = text.split(':')
  if (!clientId || secret.length === 0) throw new TypeError(`Not a client, id:secret: ${text}`)
  return {clientId, clientSecret: secret.join(':'), redirectUris: 'any-loopback'}
}

const readSwitch = (text: string): [string, unknown] => {
  const [name = '', value = 'true'] = text.split('=')
  return [name, parse(value)]
}

const parse = (value: string): unknown => {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
