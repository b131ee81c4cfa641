/** As the provider counts, and will charge. Estimated at four characters a token where it does not say, or was not heard to the end. */
export type Usage = {inputTokens: number; outputTokens: number}
export const nothing: Usage = {inputTokens: 0, outputTokens: 0}
export const charactersPerToken = 4

/** Whole steps as the provider counts them, and of the one under way what has been seen of it. */
export const counting = (begun: number, spent: (usage: Usage) => void) => {
  let known = nothing
  let open = nothing
  let characters = 0
  const total = () => addUsage(known, open)
  const told = () => spent(total())
  return {
    total,
    begin() {
      open = {inputTokens: begun, outputTokens: 0}
      told()
    },
    streamed(text: string) {
      characters += text.length
      open = {...open, outputTokens: Math.ceil(characters / charactersPerToken)}
      told()
    },
    /** Part of the next step's question. */
    read(text: string) {
      begun += tokensIn(text)
    },
    step(reported: Reported) {
      known = addUsage(known, usageOf(reported, open))
      begun += open.outputTokens
      characters = 0
      open = nothing
      told()
    },
  }
}

type Reported = {[N in keyof Usage]?: number | undefined}

export const addUsage = (one: Usage, other: Usage): Usage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
})

export const tokensIn = (text: string): number => Math.ceil(text.length / charactersPerToken)

/** Of a provider that says nothing, or nonsense, such as that nothing was read, the estimate. */
export const usageOf = (reported: Reported | undefined, estimate: Usage): Usage => {
  const read = (name: keyof Usage) => {
    const said = reported?.[name]
    return typeof said === 'number' && Number.isFinite(said) && said > 0 ? Math.min(Math.ceil(said), 1_000_000_000) : estimate[name]
  }
  return {inputTokens: read('inputTokens'), outputTokens: read('outputTokens')}
}

export type Step = {usage: Reported; text: string; toolResults: readonly {output?: unknown}[]}

const usageOfStep = ({usage, text}: Step, begun: number) => usageOf(usage, {inputTokens: begun, outputTokens: tokensIn(text)})

export const usageOfSteps = (steps: readonly Step[], begun: number) => steps.map(step => usageOfStep(step, begun)).reduce(addUsage, nothing)

/** A step reads what the one before it read, wrote and was told by tools. */
export const nextStep = (steps: readonly Step[], maxTokens: number): Usage => {
  const last = steps.at(-1)!
  const {inputTokens, outputTokens} = usageOfStep(last, 0)
  const told = last.toolResults.map(({output}) => JSON.stringify(output ?? null)).join('')
  return {inputTokens: inputTokens + outputTokens + tokensIn(told), outputTokens: maxTokens}
}
