/** Tokens as the provider charges them. Numbers that the provider does not report are estimated at four characters per token. */
export type Usage = {inputTokens: number; outputTokens: number}
export const nothing: Usage = {inputTokens: 0, outputTokens: 0}
export const charactersPerToken = 4

/**
 * Counts the usage of a conversation: complete steps by the provider's report, the current step by what was streamed so far. `begun`: the
 * estimated input tokens of the first step. Calls `spent` with the total after every change.
 */
export const counting = (begun: number, spent: (usage: Usage) => void) => {
  let known = nothing
  let open = nothing
  let characters = 0
  const total = () => addUsage(known, open)
  const report = () => spent(total())
  return {
    total,
    begin() {
      open = {inputTokens: begun, outputTokens: 0}
      report()
    },
    streamed(text: string) {
      characters += text.length
      open = {...open, outputTokens: Math.ceil(characters / charactersPerToken)}
      report()
    },
    /** Adds a text to the input of the next step. */
    read(text: string) {
      begun += tokensIn(text)
    },
    step(reported: ReportedUsage) {
      known = addUsage(known, usageOf(reported, open))
      begun += open.outputTokens
      characters = 0
      open = nothing
      report()
    },
  }
}

type ReportedUsage = {[N in keyof Usage]?: number | undefined}

export const addUsage = (one: Usage, other: Usage): Usage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
})

export const tokensIn = (text: string): number => Math.ceil(text.length / charactersPerToken)

/**
 * Returns the reported usage. A number that the provider does not report, or an implausible one such as zero input tokens, is replaced by the
 * estimate.
 */
export const usageOf = (reported: ReportedUsage | undefined, estimate: Usage): Usage => {
  const read = (name: keyof Usage) => {
    const count = reported?.[name]
    return typeof count === 'number' && Number.isFinite(count) && count > 0 ? Math.min(Math.ceil(count), 1_000_000_000) : estimate[name]
  }
  return {inputTokens: read('inputTokens'), outputTokens: read('outputTokens')}
}

export type Step = {usage: ReportedUsage; text: string; toolResults: readonly {output?: unknown}[]}

const usageOfStep = ({usage, text}: Step, begun: number) => usageOf(usage, {inputTokens: begun, outputTokens: tokensIn(text)})

export const usageOfSteps = (steps: readonly Step[], begun: number) => steps.map(step => usageOfStep(step, begun)).reduce(addUsage, nothing)

/** Estimates the usage of the next step. Its input is the input, output and tool results of the previous step. */
export const nextStep = (steps: readonly Step[], maxTokens: number): Usage => {
  const last = steps.at(-1)!
  const {inputTokens, outputTokens} = usageOfStep(last, 0)
  const outputs = last.toolResults.map(({output}) => JSON.stringify(output ?? null)).join('')
  return {inputTokens: inputTokens + outputTokens + tokensIn(outputs), outputTokens: maxTokens}
}
