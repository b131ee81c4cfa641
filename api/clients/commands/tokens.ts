import {type Command, InvalidArgumentError} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {notThere, usage} from '../cli/failure.ts'
import type {Cli} from '../cli/session.ts'
import {clean} from '../cli/words.ts'
import type {Json} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const tokens = program
    .command('tokens')
    .summary('list, create and revoke API tokens')
    .description('An API token lets a program act for the org, as an administrator. People make and revoke them: sign in first.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading tokens create "nightly import" --expires 90d\n  lading tokens create ci --json | jq -r .secret | gh secret set LADING_TOKEN\n  lading tokens revoke ci',
    )
    .action(() => list(cli))
  tokens
    .command('list')
    .summary('list them')
    .action(() => list(cli))
  tokens
    .command('create')
    .summary('make one; its secret is shown once')
    .argument('<name>', 'what it is for')
    .option('--expires <when>', 'good for so long (30d, 12h), or until a date', expiry)
    .action((name: string, options: {expires?: string}) => create(cli, name, options.expires))
  tokens
    .command('revoke')
    .summary('end one')
    .argument('<token>', 'its name or id')
    .action((given: string) => revoke(cli, given))
  addExamples(tokens, EXAMPLES)
}

const EXAMPLES = {
  list: 'list',
  create: 'create "nightly import" --expires 90d',
  revoke: 'revoke "nightly import"',
}

/** `90d`, `12h`, or a date. */
const expiry = (given: string): string => {
  const [, many, unit] = /^(\d{1,5})([hd])$/.exec(given) ?? []
  const at = many ? Date.now() + Number(many) * (unit === 'h' ? 3_600_000 : 86_400_000) : Date.parse(given)
  if (Number.isNaN(at)) throw new InvalidArgumentError('Write it as 90d, 12h or 2027-01-31.')
  return new Date(at).toISOString()
}

const stateOf = ({revokedAt, expiresAt}: Json) =>
  revokedAt ? 'revoked' : expiresAt && Date.parse(expiresAt) < Date.now() ? 'expired' : 'good'

const list = async ({out, open}: Cli) => {
  const {client, path} = await open()
  const {tokens} = await client.get(path('tokens'))
  const rows = tokens.map((one: Json) => [
    one.id,
    one.name,
    `${one.prefix}…`,
    stateOf(one),
    out.time(one.lastUsedAt),
    out.time(one.expiresAt),
  ])
  const heads = [{head: 'ID', keep: true}, {head: 'NAME'}, {head: 'BEGINS'}, {head: 'STATE'}, {head: 'USED'}, {head: 'EXPIRES'}]
  out.answer({tokens}, () => (rows.length ? out.table(heads, rows) : 'There are no tokens. Make one: lading tokens create NAME'))
}

const create = async ({out, open}: Cli, name: string, expiresAt: string | undefined) => {
  const {client, path, server} = await open()
  const {token, secret} = await client.post(path('tokens'), {name, ...(expiresAt && {expiresAt})})
  out.answer({token, secret}, () => {
    out.note(`${clean(token.name)} is made (${token.id}). This is its secret; it is not shown again.`)
    out.note(`In CI: LADING_URL=${server} and LADING_TOKEN=<the secret>`)
    return secret
  })
}

const revoke = async ({out, open}: Cli, given: string) => {
  const {client, path} = await open()
  const {tokens} = await client.get(path('tokens'))
  const [found, another] = tokens.filter((one: Json) => one.id === given || (one.name === given && !one.revokedAt))
  if (!found) throw notThere(`There is no token ${given}`, 'List those there are: lading tokens')
  if (another) throw usage(`Several tokens are called ${given}`, 'Name it by its id: lading tokens')
  const {token} = await client.delete(path(`tokens/${found.id}`))
  out.answer({token}, `${clean(token.name)} is revoked: whatever used it is refused from now on`)
}
