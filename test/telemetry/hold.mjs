// Preloaded: a program whose work is done stays for longer than a message takes to be sent. Otherwise silence would prove nothing.
process.once("beforeExit", () => setTimeout(() => {}, 1500));
