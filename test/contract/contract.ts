import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import {documentsFolder} from '../stack/contract-settings.ts'
import {openChecker} from './checker.ts'
import {correctDocuments} from './correction.ts'
import {type Finding, judgeExchanges, readExchanges} from './judge.ts'
import {commonAnswers, knownFaults} from './known-faults.ts'
import {newerOperations} from './newer-operations.ts'
import {readDocuments} from './openapi.ts'
import {probeRequests} from './probe-requests.ts'
import {listTraffic} from './traffic.ts'

/**
 * The calls that the tests must make. `npm run contract` exits with 1 if one was not made, if a probe request was not made, if a test fails, or if an
 * exchange differs from the vendor's OpenAPI documents in the folder CRM_OAS_DIR. It exits with 2 if CRM_OAS_DIR is not set.
 */
const needed = [
  'GET /crm/v8/org',
  'GET /crm/v8/users',
  'GET /crm/v8/users/actions/count',
  'GET /crm/v8/settings/modules',
  'GET /crm/v8/settings/fields',
  'GET /crm/v8/settings/layouts',
  'POST /crm/v8/coql',
  'GET /crm/v8/{module}/search',
  'GET /crm/v8/{module}',
  'GET /crm/v8/{module}/{recordID}',
  'POST /crm/v8/{module}',
  'PUT /crm/v8/{module}',
  'POST /crm/v8/upload',
  'POST /crm/bulk/v8/write',
  'GET /crm/bulk/v8/write/{jobId}',
  'PUT /crm/v8/{module}/{recordID}',
  'DELETE /crm/v8/{module}',
  'POST /crm/bulk/v8/read',
  'GET /crm/bulk/v8/read/{jobId}',
  'GET /crm/bulk/v8/read/{jobId}/result',
]

const say = (line: string) => process.stdout.write(`${line}\n`)

const checkContract = async (documents: string): Promise<boolean> => {
  const checker = openChecker(correctDocuments(readDocuments(documents), knownFaults, commonAnswers))
  const folder = mkdtempSync(join(tmpdir(), 'lading-contract-'))
  try {
    const environment = {...process.env, CRM_EXCHANGES: folder}
    const tests = spawn('ava', listTraffic(), {stdio: ['ignore', 'pipe', 'inherit'], env: environment})
    const ended = once(tests, 'exit')
    for await (const line of createInterface(tests.stdout)) if (line.includes('✘')) say(line)
    const [code] = await ended
    const {requests, answers, spoiled, driven, newer, differences, probed, unsent, unchecked} = judgeExchanges(
      checker,
      readExchanges(folder),
      {
        probes: probeRequests,
        newer: newerOperations,
      },
    )
    differences.forEach(sayDifference)
    const missing = needed.filter(operation => !driven.has(operation) && !newer.has(operation))
    if (code !== 0) say('The tests that drive the CRM failed. Run them alone: npm run test:only')
    for (const operation of missing) say(`No test made this call: ${operation}`)
    say(
      `${requests} requests and ${answers} answers checked, of ${driven.size} operations; ${spoiled} answers changed by injected faults left out`,
    )
    say(`${knownFaults.length + commonAnswers.length} known faults of the documents corrected first`)
    say(`${unchecked} requests of operations that only newer documents describe: not checked`)
    for (const {probe} of unsent) say(`No test made the doctor send the request of ${probe}, or it no longer differs`)
    say(`${probed} differences in requests that the doctor sends to be refused`)
    say(`${differences.length} unexplained differences`)
    return code === 0 && [differences, missing, unsent].every(({length}) => length === 0)
  } finally {
    rmSync(folder, {recursive: true})
  }
}

const sayDifference = ({side, operation, status, place, schema, message, count, example}: Finding) => {
  const {method, path, query, body, answer} = example
  say(`${count} × ${side} of ${operation}${status === null ? '' : `, ${status}`}: ${place} ${message}`)
  say(`    schema ${schema}`)
  say(`    for example ${method} ${path}?${new URLSearchParams(query)} ${body.slice(0, 500)} -> ${example.status} ${answer.slice(0, 500)}`)
}

if (!documentsFolder) {
  say(
    'CRM_OAS_DIR is not set. Set it to a folder with the vendor’s OpenAPI documents (github.com/zoho/crm-oas), then run npm run contract.',
  )
  process.exitCode = 2
} else if (!(await checkContract(documentsFolder))) process.exitCode = 1
