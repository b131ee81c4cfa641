// Writes the difference of the configuration as one comment of the pull request for each directory and server, and renews it on the next run. If the
// token may not write comments, as for a pull request of a fork, the text goes to the summary of the job.
// usage: node comment.mjs FILE true|false
import {appendFileSync, readFileSync} from 'node:fs'

const [file, changed] = process.argv.slice(2)
const {GITHUB_API_URL, GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_STEP_SUMMARY, GITHUB_TOKEN, LADING_DIRECTORY, LADING_URL} = process.env
const mark = `<!-- lading config diff ${[LADING_DIRECTORY, LADING_URL].map(encodeURIComponent).join(' ')} -->`
/** GitHub refuses comments of more than 65,536 characters. */
const longest = 60_000

const call = async (method, path, body) => {
  const response = await fetch(`${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/${path}`, {
    method,
    headers: {authorization: `Bearer ${GITHUB_TOKEN}`, accept: 'application/vnd.github+json', 'content-type': 'application/json'},
    ...(body && {body: JSON.stringify(body)}),
    signal: AbortSignal.timeout(30_000),
  })
  if (response.ok) return response.json()
  const message = `GitHub answered ${response.status} to ${method} ${path}: ${(await response.text()).slice(0, 300)}`
  throw Object.assign(new Error(message), {isForbidden: response.status === 403})
}

const findComment = async number => {
  for (let page = 1; page <= 30; page++) {
    const comments = await call('GET', `issues/${number}/comments?per_page=100&page=${page}`)
    const found = comments.find(({body}) => body?.startsWith(mark))
    if (found || comments.length < 100) return found
  }
}

/** A fence longer than every run of backticks in the text, so that the text cannot end the block. */
const fenced = text => {
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))
  return `${fence}diff\n${text}\n${fence}`
}

const describe = () => {
  if (changed !== 'true') return `The configuration in \`${LADING_DIRECTORY}\` is the same as on ${LADING_URL}.`
  const text = readFileSync(file, 'utf8').trimEnd()
  const shown = text.length > longest ? `${text.slice(0, longest)}\n…` : text
  return `After the merge, \`lading config push ${LADING_DIRECTORY}\` would change ${LADING_URL} (-) to these files (+):\n\n${fenced(shown)}`
}

const writeComment = async (number, text) => {
  const body = `${mark}\n${text}`
  const known = await findComment(number)
  if (known) await call('PATCH', `issues/comments/${known.id}`, {body})
  else if (changed === 'true') await call('POST', `issues/${number}/comments`, {body})
}

const {pull_request: pullRequest} = JSON.parse(readFileSync(GITHUB_EVENT_PATH, 'utf8'))
if (pullRequest === undefined) process.stdout.write('This run belongs to no pull request, so there is no comment.\n')
else {
  const text = describe()
  await writeComment(pullRequest.number, text).catch(error => {
    if (!error.isForbidden) throw error
    if (GITHUB_STEP_SUMMARY) appendFileSync(GITHUB_STEP_SUMMARY, `${text}\n`)
    process.stdout.write(`${error.message}\n::warning::The token may not write comments, so the text is in the summary of the job.\n`)
  })
}
