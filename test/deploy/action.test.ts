import {once} from 'node:events'
import {chmodSync, existsSync, readFileSync, writeFileSync} from 'node:fs'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {delimiter, join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {cliPath, openHome} from '../support/cli-process.ts'
import {openTemplates} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {readText, readYaml, root} from './files.ts'

const folder = `${root}/deploy/action`
let house: TestDeployment

test.before(async t => {
  house = await startTestDeployment(t)
})

/** Starts a stand-in for GitHub's API of comments. `mayWrite`: whether the token may write comments, which that of a fork may not. */
const openGithub = async (t: ExecutionContext, {mayWrite = true} = {}) => {
  const comments: {id: number; body: string}[] = []
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    requests.push(`${request.method} ${request.url!.split('?')[0]}`)
    const [, id] = /\/issues\/comments\/(\d+)$/.exec(request.url!) ?? []
    const known = comments.find(comment => comment.id === Number(id))
    if (request.headers.authorization !== 'Bearer ghs_test') return response.writeHead(401).end('{}')
    if (request.method === 'GET') return response.end(JSON.stringify(comments))
    if (!mayWrite) return response.writeHead(403).end('{"message":"Resource not accessible by integration"}')
    const {body} = JSON.parse(text)
    if (known) known.body = body
    else comments.push({id: comments.length + 1, body})
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return {comments, requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`}
}

/** Returns a function that runs the step of the action as a GitHub runner does. The command `lading` runs this repository's command line. */
const openRunner = (home: ReturnType<typeof openHome>, {githubUrl = '', event = {}}: {githubUrl?: string; event?: object} = {}) => {
  const lading = home.put('lading', `#!/bin/sh\nexec '${process.execPath}' '${cliPath}' "$@"\n`)
  chmodSync(lading, 0o755)
  const [output, summary] = [home.put('output', ''), home.put('summary', '')]
  const inherited: Record<string, string | undefined> = {...process.env}
  const env = {
    PATH: [home.here, join(process.execPath, '..'), inherited.PATH].join(delimiter),
    GITHUB_ACTION_PATH: folder,
    GITHUB_OUTPUT: output,
    GITHUB_STEP_SUMMARY: summary,
    GITHUB_API_URL: githubUrl,
    GITHUB_REPOSITORY: 'example/crm',
    GITHUB_TOKEN: 'ghs_test',
    GITHUB_EVENT_PATH: home.put('event.json', JSON.stringify(event)),
  }
  const step = (inputs: Record<string, string>) => home.run([join(folder, 'run.sh')], {command: ['bash'], env: {...env, ...inputs}})
  return {step, output: () => readFileSync(output, 'utf8'), summary: () => readFileSync(summary, 'utf8')}
}

test('diff writes one comment on the pull request, and renews it', async t => {
  const org = await openTemplates(house)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  t.is((await home.run(['config', 'pull', 'crm'])).code, 0)
  const github = await openGithub(t)
  const {step, output} = openRunner(home, {githubUrl: github.url, event: {pull_request: {number: 7}}})
  const settings = join(home.here, 'crm', 'settings.json')
  const original = readFileSync(settings, 'utf8')
  const diff = {LADING_COMMAND: 'diff', LADING_DIRECTORY: 'crm'}

  const same = await step(diff)
  t.is(same.code, 0, same.err)
  t.deepEqual(github.comments, [], 'nothing differs, so there is nothing to say')

  writeFileSync(settings, original.replace('UTC', 'Europe/Berlin'))
  const changed = await step(diff)
  t.is(changed.code, 0, changed.err)
  t.is(github.comments.length, 1)
  const {body} = github.comments[0]!
  const mark = `<!-- lading config diff crm ${encodeURIComponent(house.url)} -->\n`
  t.true(body.startsWith(mark), body)
  t.regex(body, /^```diff\n(.*\n)*\+ {2}"timezone": "Europe\/Berlin"/m)

  writeFileSync(settings, original)
  t.is((await step(diff)).code, 0)
  t.deepEqual(github.comments, [{id: 1, body: `${mark}The configuration in \`crm\` is the same as on ${house.url}.`}])
  t.is(output(), 'changed=false\nchanged=true\nchanged=false\n')
  t.true(github.requests.every(request => request.includes('/repos/example/crm/issues/')))
})

test('each directory has a comment, which other steps of the pull request leave as it is', async t => {
  const org = await openTemplates(house)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  const github = await openGithub(t)
  const {step} = openRunner(home, {githubUrl: github.url, event: {pull_request: {number: 7}}})
  const zones = {crm: 'Europe/Berlin', sandbox: 'Europe/Paris'}
  for (const [directory, zone] of Object.entries(zones)) {
    t.is((await home.run(['config', 'pull', directory])).code, 0)
    const settings = join(home.here, directory, 'settings.json')
    writeFileSync(settings, readFileSync(settings, 'utf8').replace('UTC', zone))
    const {code, err} = await step({LADING_COMMAND: 'diff', LADING_DIRECTORY: directory})
    t.is(code, 0, err)
  }
  t.is(github.comments.length, 2)
  for (const [at, [directory, zone]] of Object.entries(zones).entries()) {
    const {body} = github.comments[at]!
    t.true(body.includes(`\`lading config push ${directory}\` would change ${house.url}`) && body.includes(zone), body)
  }
})

test('a token that may not write comments leaves the text in the summary of the job', async t => {
  const org = await openTemplates(house)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  t.is((await home.run(['config', 'pull', 'crm'])).code, 0)
  const github = await openGithub(t, {mayWrite: false})
  const {step, output, summary} = openRunner(home, {githubUrl: github.url, event: {pull_request: {number: 7}}})
  const settings = join(home.here, 'crm', 'settings.json')
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('UTC', 'Europe/Berlin'))
  const changed = await step({LADING_COMMAND: 'diff', LADING_DIRECTORY: 'crm'})
  t.is(changed.code, 0, changed.err)
  t.is(output(), 'changed=true\n')
  t.regex(summary(), /^After the merge, (.*\n)*\+ {2}"timezone": "Europe\/Berlin"/)
  t.regex(changed.out, /^::warning::The token may not write comments/m)
})

test('diff outside a pull request writes no comment, and a refused token fails the step', async t => {
  const org = await openTemplates(house)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  t.is((await home.run(['config', 'pull', 'crm'])).code, 0)
  const {step} = openRunner(home)
  const quiet = await step({LADING_COMMAND: 'diff', LADING_DIRECTORY: 'crm'})
  t.is(quiet.code, 0, quiet.err)
  t.regex(quiet.out, /no pull request, so there is no comment/)
  const refused = await step({LADING_COMMAND: 'diff', LADING_DIRECTORY: 'crm', LADING_TOKEN: 'wrong'})
  t.is(refused.code, 5, refused.err)
})

test('inputs stay arguments: a value with shell syntax runs nothing', async t => {
  const org = await openTemplates(house)
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: org.token})
  home.put('rows.csv', 'Email\na@example.com\n')
  const {step} = openRunner(home)
  const refused = await step({
    LADING_COMMAND: 'import',
    LADING_FILE: 'rows.csv',
    LADING_ARGUMENTS: '--template\n$(touch pwned) "a b"; touch pwned\n',
  })
  t.not(refused.code, 0)
  t.true(refused.err.includes('$(touch pwned) "a b"; touch pwned'), refused.err)
  t.false(existsSync(join(home.here, 'pwned')))
  const unknown = await step({LADING_COMMAND: 'delete'})
  t.is(unknown.code, 4)
})

test('the action passes every input as a variable, and no script holds one', t => {
  const {inputs, runs} = readYaml('deploy/action/action.yml')
  t.is(runs.using, 'composite')
  const text = readText('deploy/action/action.yml')
  for (const name of Object.keys(inputs)) t.true(text.includes(`\${{ inputs.${name} }}`), name)
  for (const {run = ''} of runs.steps) t.false(run.includes('${{'), run)
  const variables = Object.keys(runs.steps.at(-1).env).filter(
    name => name.startsWith('LADING_') && name !== 'LADING_URL' && name !== 'LADING_TOKEN',
  )
  const script = readText('deploy/action/run.sh')
  const unguarded = script.replaceAll(/\$\{arguments\[@\]\+"\$\{arguments\[@\]\}"\}|^#.*$/gm, '')
  t.false(unguarded.includes('arguments[@]'), 'Bash 3.2 of macOS refuses an empty array')
  for (const name of variables) t.true(script.includes(`$${name}`) || script.includes(`\${${name}`), name)
})
