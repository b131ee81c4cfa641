export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** Kinds of values that the completion asks the server for. */
export const VALUE_KINDS = ['connections', 'templates', 'modules', 'imports', 'schedules', 'libraries'] as const
export type ValueKind = (typeof VALUE_KINDS)[number]

type Flag = {long: string; short: string | null; summary: string; choices: string[]; takesValue: boolean; kind: ValueKind | null}
/** A command, as far as completion needs it. `kind`: the values of its first argument. */
export type Node = {name: string; summary: string; options: Flag[]; commands: Node[]; choices: string[]; kind: ValueKind | null}

/**
 * Generates a shell script that completes commands, options and their choices, and values that it requests from the server. For other
 * arguments, the shell completes file names.
 */
export const writeCompletion = (shell: Shell, root: Node): string => WRITERS[shell](root)

type CommandPosition = {path: string; node: Node}

const walk = (node: Node, path = ''): CommandPosition[] => [
  {path, node},
  ...node.commands.flatMap(child => walk(child, `${path} ${child.name}`.trim())),
]

const optionsOf = (root: Node, {options}: Node) => [...new Map([...options, ...root.options, HELP].map(flag => [flag.long, flag])).values()]

const HELP: Flag = {long: '--help', short: '-h', summary: 'help for the command, with examples', choices: [], takesValue: false, kind: null}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

type NamedKind = {kind: ValueKind; names: string[]}

const kindsOf = (all: CommandPosition[]): NamedKind[] =>
  VALUE_KINDS.map(kind => ({
    kind,
    names: [
      ...new Set(
        all.flatMap(({node}) =>
          node.options.filter(flag => flag.kind === kind).flatMap(({long, short}) => [long, ...(short ? [short] : [])]),
        ),
      ),
    ],
  })).filter(({names}) => names.length > 0)

const bash = (root: Node): string => {
  const all = walk(root)
  const valued = [
    ...new Set(
      all.flatMap(({node}) =>
        node.options.filter(({takesValue}) => takesValue).flatMap(({long, short}) => [long, ...(short ? [short] : [])]),
      ),
    ),
  ]
  const children = all.filter(({path}) => path).map(({path}) => `    ${quote(path)}) at=$next ;;`)
  const words = all.map(({path, node}) => {
    const names = [...node.commands.map(({name}) => name), ...node.choices]
    return `    ${quote(path)}) kind=${quote(node.kind ?? '')}; words=${quote(names.join(' '))}; options=${quote(
      optionsOf(root, node)
        .map(({long}) => long)
        .join(' '),
    )} ;;`
  })
  const choices = all.flatMap(({node}) => node.options).filter(flag => flag.choices.length > 0)
  const values = [...new Map(choices.map(flag => [flag.long, flag])).values()].map(
    ({long, choices: of}) => `    ${long}) COMPREPLY=($(compgen -W ${quote(of.join(' '))} -- "$current")); return ;;`,
  )
  const named = kindsOf(all).map(({kind, names}) => `    ${names.join('|')}) _lading_values ${kind} "$current"; return ;;`)
  return `# bash completion of lading: source <(lading completion bash)
_lading_values() {
  local name typed=\${2//\\\\/}
  COMPREPLY=()
  while IFS= read -r name; do
    [[ $name == "$typed"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
  done < <(lading completion bash --values "$1" 2>/dev/null)
}
_lading() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} at='' next word index words options kind
  case $previous in
${[...values, ...named].join('\n')}
    ${valued.join('|')}) return ;;
  esac
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    [[ $word == -* ]] && continue
    next="\${at:+$at }$word"
    case $next in
${children.join('\n')}
    esac
  done
  case $at in
${words.join('\n')}
  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $kind ]]; then _lading_values "$kind" "$current"
  elif [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -F _lading lading
`
}

const zsh = (root: Node): string => {
  const cases = walk(root).map(({path, node}) => {
    const items = [...node.commands.map(({name, summary}) => `${name}:${summary}`), ...node.choices]
    const flags = optionsOf(root, node).map(({long, summary}) => `${long}:${summary}`)
    return `    ${quote(path)}) kind=${quote(node.kind ?? '')}; words_=(${items.map(quote).join(' ')}); flags=(${flags.map(quote).join(' ')}) ;;`
  })
  const known = walk(root)
    .filter(({path}) => path)
    .map(({path}) => quote(path))
  const named = kindsOf(walk(root)).map(({kind, names}) => `    ${names.join('|')}) _lading_values ${kind}; return ;;`)
  return `#compdef lading
# zsh completion of lading: lading completion zsh > "\${fpath[1]}/_lading"
_lading_values() {
  local -a names
  names=("\${(@f)$(lading completion zsh --values $1 2>/dev/null)}")
  compadd -a names
}
_lading() {
  local at='' next word kind
  local -a words_ flags known
  case \${words[CURRENT-1]} in
${named.join('\n')}
  esac
  known=(${known.join(' ')})
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* ]] && continue
    next="\${at:+$at }$word"
    (( \${known[(Ie)$next]} )) && at=$next
  done
  case $at in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then _describe 'option' flags
  elif [[ -n $kind ]]; then _lading_values $kind
  elif (( \${#words_} )); then _describe 'command' words_
  else _files
  fi
}
compdef _lading lading
# Autoloaded, this file is the function that is called.
if [[ $funcstack[1] == _lading ]]; then _lading "$@"; fi
`
}

const fish = (root: Node): string => {
  const lines = walk(root).flatMap(({path, node}) => {
    const when = `-n ${quote(`__lading_at ${quote(path)}`)}`
    const names = node.commands.map(({name, summary}) => `complete -c lading ${when} -f -a ${quote(name)} -d ${quote(summary)}`)
    const values = node.kind === null ? [] : [`complete -c lading ${when} -f -a ${quote(fishValues(node.kind))}`]
    const choices = node.choices.map(choice => `complete -c lading ${when} -f -a ${quote(choice)}`)
    const flags = optionsOf(root, node).map(({long, short, summary, takesValue, choices: of, kind}) =>
      [
        `complete -c lading ${when} -l ${long.slice(2)}`,
        short && `-s ${short.slice(1)}`,
        takesValue && '-r',
        of.length && `-f -a ${quote(of.join(' '))}`,
        kind && `-f -a ${quote(fishValues(kind))}`,
        `-d ${quote(summary)}`,
      ]
        .filter(part => part)
        .join(' '),
    )
    return [...names, ...values, ...choices, ...flags]
  })
  const known = walk(root)
    .filter(({path}) => path)
    .map(({path}) => quote(path))
  return `# fish completion of lading: lading completion fish > ~/.config/fish/completions/lading.fish
function __lading_at
  set -l known ${known.join(' ')}
  set -l at ''
  for word in (commandline -opc)
    string match -qr -- '^-|^lading$' $word; and continue
    set -l next (string trim -- "$at $word")
    contains -- $next $known; and set at $next
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

const fishValues = (kind: ValueKind) => `(lading completion fish --values ${kind} 2>/dev/null)`

const WRITERS: Record<Shell, (root: Node) => string> = {bash, zsh, fish}
