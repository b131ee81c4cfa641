import {type Command, InvalidArgumentError} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {notThere, usage} from '../cli/failure.ts'
import {clean} from '../cli/phrases.ts'
import type {Cli} from '../cli/session.ts'
import type {Json} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const tokens = program
    .command('tokens')
    .summary('list, create and revoke API tokens')
    .description('An API token gives a program the admin role in the org. To create or revoke tokens, sign in first.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading tokens create "nightly import" --expires 90d\n  lading tokens create ci --json | jq -r .secret | gh secret set LADING_TOKEN\n  lading tokens revoke ci',
    )
    .action(() => list(cli))
  tokens
    .command('list')
    .summary('list tokens')
    .action(() => list(cli))
  tokens
    .command('create')
    .summary('create a token; its secret is shown once')
    .argument('<name>', 'purpose of the token')
    .option('--expires <when>', 'lifetime (30d, 12h) or expiry date', expiry)
    .action((name: string, options: {expires?: string}) => create(cli, name, options.expires))
  tokens
    .command('revoke')
    .summary('revoke a token')
    .argument('<token>', 'name or id of the token')
    .action((given: string) => revoke(cli, given))
  addExamples(tokens, EXAMPLES)
}

const EXAMPLES = {
  list: 'list',
  create: 'create "nightly import" --expires 90d',
  revoke: 'revoke "nightly import"',
}

const expiry = (given: string): string => {
  const [, many, unit] = /^(\d{1,5})([hd])$/.exec(given) ?? []
  const at = many ? Date.now() + Number(many) * (unit === 'h' ? 3_600_000 : 86_400_000) : Date.parse(given)
  if (Number.isNaN(at)) throw new InvalidArgumentError('Use the form 90d, 12h or 2027-01-31.')
  return new Date(at).toISOString()
}

const stateOf = ({revokedAt, expiresAt}: Json) =>
  revokedAt ? 'revoked' : expiresAt && Date.parse(expiresAt) < Date.now() ? 'expired' : 'active'

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
  const heads = [{head: 'ID', keep: true}, {head: 'NAME'}, {head: 'PREFIX'}, {head: 'STATE'}, {head: 'LAST USED'}, {head: 'EXPIRES'}]
  out.answer({tokens}, () => (rows.length ? out.table(heads, rows) : 'There are no tokens. Create one: lading tokens create NAME'))
}

const create = async ({out, open}: Cli, name: string, expiresAt: string | undefined) => {
  const {client, path, server} = await open()
  const {token, secret} = await client.post(path('tokens'), {name, ...(expiresAt && {expiresAt})})
  out.answer({token, secret}, () => {
    out.note(`Created ${clean(token.name)} (${token.id}). Its secret follows and is not shown again.`)
    out.note(`In CI: LADING_URL=${server} and LADING_TOKEN=<the secret>`)
    return secret
  })
}

const revoke = async ({out, open}: Cli, given: string) => {
  const {client, path} = await open()
  const {tokens} = await client.get(path('tokens'))
  const [found, another] = tokens.filter((one: Json) => one.id === given || (one.name === given && !one.revokedAt))
  if (!found) throw notThere(`Token not found: ${given}`, 'List tokens with: lading tokens')
  if (another) throw usage(`Several tokens are named ${given}`, 'Use the id: lading tokens')
  const {token} = await client.delete(path(`tokens/${found.id}`))
  out.answer({token}, `Revoked ${clean(token.name)}. Programs that use it are refused from now on`)
}
