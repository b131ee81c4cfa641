// Writes the difference of the configuration as one comment of the pull request, and renews that comment on the next run.
// usage: node comment.mjs FILE true|false
import {readFileSync} from 'node:fs'

const [file, changed] = process.argv.slice(2)
const {GITHUB_API_URL, GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_TOKEN} = process.env
const mark = '<!-- lading config diff -->'
/** GitHub refuses comments of more than 65,536 characters. */
const longest = 60_000

const call = async (method, path, body) => {
  const response = await fetch(`${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/${path}`, {
    method,
    headers: {authorization: `Bearer ${GITHUB_TOKEN}`, accept: 'application/vnd.github+json', 'content-type': 'application/json'},
    ...(body && {body: JSON.stringify(body)}),
    signal: AbortSignal.timeout(30_000),
  })
  if (!response.ok) throw new Error(`GitHub answered ${response.status} to ${method} ${path}: ${(await response.text()).slice(0, 300)}`)
  return response.json()
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
  if (changed !== 'true') return 'The configuration is the same as on the server.'
  const text = readFileSync(file, 'utf8').trimEnd()
  const shown = text.length > longest ? `${text.slice(0, longest)}\n…` : text
  return `After the merge, \`lading config push\` would change the server (-) to these files (+):\n\n${fenced(shown)}`
}

const {pull_request: pullRequest} = JSON.parse(readFileSync(GITHUB_EVENT_PATH, 'utf8'))
if (pullRequest === undefined) process.stdout.write('This run belongs to no pull request, so there is no comment.\n')
else {
  const body = `${mark}\n${describe()}`
  const known = await findComment(pullRequest.number)
  if (known) await call('PATCH', `issues/comments/${known.id}`, {body})
  else if (changed === 'true') await call('POST', `issues/${pullRequest.number}/comments`, {body})
}
